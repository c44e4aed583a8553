import Foundation

/// The services that a lab simulates, and their addresses.
public struct LabConfiguration: Sendable {
    /// The address all services listen on; a loopback address.
    public var host = "127.0.0.1"
    /// The only service that is always enabled. Its sandbox is optional.
    public var apns = APNs()
    /// Nil: disabled.
    public var fcm: FCM?
    /// Nil: disabled.
    public var unifiedPush: UnifiedPush? = UnifiedPush()
    /// Nil: disabled.
    public var webPush: WebPush? = WebPush()
    /// The browsers' side of push services; nil: disabled. It needs ``webPush``.
    public var browsers: Browsers?
    /// Nil: disabled.
    public var ntfy: Ntfy? = Ntfy()
    /// Nil: disabled.
    public var gotify: Gotify? = Gotify()
    /// The port of the service that accepts everything, 0 for any free port; nil: disabled.
    public var otherPort: Int?
    /// The port of the control endpoint, 0 for any free port; nil: disabled.
    public var controlPort: Int?
    /// Misbehaviours from the start. More can be added while the lab runs.
    public var misbehaviours: [ScriptedBehavior] = []
    /// Decides about every request that passes all checks and that no ordered misbehaviour matches; nil for the regular
    /// response. For runs with random failures. Called on the servers' threads, without a lock.
    public var randomMisbehaviour: RandomMisbehaviour?
    /// The directory for `ca.pem`, created if missing; nil for a temporary one that is removed at shutdown.
    public var folder: String?
    /// More names in the servers' certificate, for clients behind a proxy.
    public var names: [String] = []
    /// The servers' certificate; nil for one from a new authority.
    public var certificate: CertificateFiles?
    /// The largest number of requests in the record. The oldest are dropped first.
    public var keptRequests = 10_000
    /// The largest size of the record in memory, in bytes.
    public var keptBytes = 64 << 20
    /// Milliseconds since 1970.
    public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// Every service on any free port, except FCM, the one that accepts everything and the control endpoint.
    public init() {}

    /// All names of the servers except localhost. Chromium's endpoints have a fixed host.
    var serverNames: [String] { browsers == nil ? names : names + [GoogleBrowsers.endpointHost] }

    /// Decides about a request for a service and a device token or topic.
    public typealias RandomMisbehaviour = @Sendable (LabService, _ target: String) -> ScriptedBehavior.Action?

    /// PEM files for the lab's TLS servers.
    public struct CertificateFiles: Sendable, Hashable {
        /// The path of the servers' certificate, followed in the same file by intermediate certificates.
        public var chain: String
        /// The path of the unencrypted private key of the first certificate in `chain`.
        public var key: String
        /// The path of the authority that clients should trust.
        public var authority: String

        /// Takes paths without a check. The lab reads `chain` and `key` when it starts, and passes `authority` only to
        /// clients.
        public init(chain: String, key: String, authority: String) {
            self.chain = chain
            self.key = key
            self.authority = authority
        }
    }

    /// The settings of APNs.
    public struct APNs: Sendable {
        /// 0 for any free port.
        public var port = 0
        /// The port of the sandbox, 0 for any free port; nil: disabled.
        public var sandboxPort: Int? = 0
        /// The port for managing production's broadcast channels, 0 for any free port.
        public var channelsPort = 0
        /// Whether the apps have Apple's capability for broadcasts.
        public var allowsBroadcasts = true
        /// The accepted providers. Each may send for its own topic and for `topics`.
        public var credentials = [LabCredentials()]
        /// More bundle IDs that all providers may send for.
        public var topics: Set<String> = []
        /// Devices declared at the start and after a reset. The last of two with the same token and environment counts.
        public var devices: [APNsDevice] = []
        /// Whether an undeclared, well-formed token is a registered device.
        public var acceptsUndeclaredDevices = true
        /// SETTINGS_MAX_CONCURRENT_STREAMS before the first request with a valid provider token.
        public var streamsBeforeAuthorization = 1
        /// SETTINGS_MAX_CONCURRENT_STREAMS after that request.
        public var streams = 1_000

        /// Production and the sandbox on any free ports, for one provider with a new key.
        public init() {}
    }

    /// The settings of a UnifiedPush server.
    public struct UnifiedPush: Sendable {
        /// 0 for any free port.
        public var port = 0
        /// HTTPS with the same certificate as APNs.
        public var usesTLS = false
        /// Receivers whose messages the lab decrypts.
        public var receivers: [WebPushReceiver] = []
        /// How messages above 4096 bytes are handled.
        public var oversize = Oversize.refused

        /// Without TLS, on any free port, without receivers, refusing messages that are too long.
        public init() {}

        /// How a server handles UnifiedPush messages above 4096 bytes. Other messages of ntfy always get 413.
        public enum Oversize: Sendable, Hashable {
            /// Responds with 413, as UnifiedPush's server specification requires.
            case refused
            /// Truncates them to 4096 bytes silently, as ntfy does.
            case cut
        }
    }

    /// The settings of FCM and Google's token endpoint.
    public struct FCM: Sendable {
        /// 0 for any free port.
        public var port = 0
        /// The accepted service accounts, each for its own project. The lab writes the first one's file for the
        /// operator.
        public var accounts: [FCMServiceAccount]
        /// Devices declared at the start and after a reset. The last of two with the same token counts.
        public var devices: [FCMDevice] = []
        /// Whether an undeclared, plausible token is a registered device.
        public var acceptsUndeclaredDevices = true
        /// How long access tokens are valid, in seconds.
        public var tokenLifetime = 3_600
        /// SETTINGS_MAX_CONCURRENT_STREAMS.
        public var streams = 100

        /// On any free port. The lab does not start without an account. The default account's key is made once for the
        /// process.
        public init(accounts: [FCMServiceAccount] = [.ofThisProcess]) {
            self.accounts = accounts
        }
    }

    /// The settings of the browsers' push services.
    public struct WebPush: Sendable {
        /// 0 for any free port.
        public var port = 0
        /// The operator's key.
        public var vapid = VAPIDCredentials()
        /// Subscriptions at the start and after a reset. The lab does not start with an invalid ID or key.
        public var subscriptions: [WebPushSubscription] = []

        /// On any free port, with a new key and without subscriptions.
        public init() {}
    }

    /// The settings of the services that browsers connect to. Messages that ``webPush`` accepts are forwarded to them.
    public struct Browsers: Sendable {
        /// Firefox's connection; 0 for any free port.
        public var firefoxPort = 0
        /// Chromium's check-in and registration; 0 for any free port.
        public var chromiumPort = 0
        /// Chromium's connection for messages; 0 for any free port.
        public var chromiumMessagesPort = 0

        /// On any free ports.
        public init() {}
    }

    /// The settings of an ntfy server.
    public struct Ntfy: Sendable {
        /// A token in ntfy's form: `tk_` and 29 characters.
        public static let accessToken = "tk_carillonlabcarillonlabcarillo"

        /// 0 for any free port.
        public var port = 0
        /// HTTPS with the same certificate as APNs.
        public var usesTLS = false
        /// Whether topics accept messages without authorization. UnifiedPush topics always do.
        public var allowsAnonymous = true
        /// The valid access tokens, with the topics that each may publish to (nil: all). Any other token gets 401.
        public var accessTokens: [String: Set<String>?] = [Self.accessToken: nil]
        /// Topics declared at the start and after a reset. All other topics accept messages.
        public var topics: [NtfyTopic] = []
        /// How UnifiedPush messages above 4096 bytes are handled.
        public var oversize = UnifiedPush.Oversize.cut

        /// Without TLS, on any free port. Every client may publish, and ``accessToken`` is valid for all topics.
        public init() {}
    }

    /// The settings of a Gotify server.
    public struct Gotify: Sendable {
        /// 0 for any free port.
        public var port = 0
        /// HTTPS with the same certificate as APNs.
        public var usesTLS = false
        /// The applications at the start and after a reset, numbered from 1. The first one's token is in `lab.json`.
        public var applications = [GotifyApplication()]

        /// Without TLS, on any free port, with one application whose token is the same in every lab.
        public init() {}
    }
}

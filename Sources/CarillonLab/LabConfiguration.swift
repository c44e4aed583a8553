import Foundation

/// What a lab plays, and where.
public struct LabConfiguration: Sendable {
    /// The address all services listen on; a loopback address.
    public var host = "127.0.0.1"
    /// The one service that cannot be left out, except for its sandbox.
    public var apns = APNs()
    /// Nil to leave the service out.
    public var fcm: FCM?
    /// Nil to leave the service out.
    public var unifiedPush: UnifiedPush? = UnifiedPush()
    /// Nil to leave the service out.
    public var webPush: WebPush? = WebPush()
    /// Nil to leave the service out.
    public var ntfy: Ntfy? = Ntfy()
    /// Nil to leave the service out.
    public var gotify: Gotify? = Gotify()
    /// The port of the control endpoint, 0 for one that the system picks; nil to leave it out.
    public var controlPort: Int?
    /// From the start; more can be added while the lab runs.
    public var misbehaviours: [Misbehaviour] = []
    /// Asked for every request that passes all checks and that no misbehaviour ordered happens to; nil for the answer it has
    /// earned. For runs that draw what goes wrong; called on the servers' threads, with no lock held.
    public var mischief: Mischief?
    /// Where `ca.pem` is written, created where it is missing; nil for a folder of its own that goes with the lab.
    public var folder: String?
    /// Further names of the servers, in their certificate, for clients that reach them by a proxy.
    public var names: [String] = []
    /// The servers' certificate; nil for one signed by an authority made for this run.
    public var certificate: CertificateFiles?
    /// How many requests are kept at most; the oldest go first.
    public var keptRequests = 10_000
    /// How much memory the requests kept may take, in bytes.
    public var keptBytes = 64 << 20
    /// Milliseconds since 1970.
    public var now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// Every service on a port that the system picks, but neither FCM nor the control endpoint, which are asked for.
    public init() {}

    /// What happens to a request for a service and a device token or topic.
    public typealias Mischief = @Sendable (LabService, _ target: String) -> Misbehaviour.Conduct?

    /// PEM files for the lab's TLS servers.
    public struct CertificateFiles: Sendable, Hashable {
        /// The path of the servers' certificate, followed in the same file by those between it and the authority.
        public var chain: String
        /// The path of the private key to the first certificate of `chain`, not encrypted.
        public var key: String
        /// What clients should trust.
        public var authority: String

        /// Takes paths, unchecked: the lab reads chain and key when it starts, and only tells clients of the authority.
        public init(chain: String, key: String, authority: String) {
            self.chain = chain
            self.key = key
            self.authority = authority
        }
    }

    /// How the lab plays APNs.
    public struct APNs: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// Of the sandbox, 0 for one that the system picks; nil to leave it out.
        public var sandboxPort: Int? = 0
        /// Of the management of production's broadcast channels, 0 for one that the system picks.
        public var channelsPort = 0
        /// Whether the apps have Apple's capability for broadcasts.
        public var allowsBroadcasts = true
        /// Whose provider tokens are good. Each may send for its own topic and for `topics`.
        public var credentials = [LabCredentials()]
        /// Further bundle ids.
        public var topics: Set<String> = []
        /// Declared from the start and again after a reset; of two with the same token and environment, the last
        /// counts.
        public var devices: [APNsDevice] = []
        /// Whether a well-formed token that was not declared is a registered device.
        public var acceptsUndeclaredDevices = true
        /// SETTINGS_MAX_CONCURRENT_STREAMS before the first request with a good provider token.
        public var streamsBeforeAuthorization = 1
        /// SETTINGS_MAX_CONCURRENT_STREAMS after it.
        public var streams = 1_000

        /// Production and the sandbox on ports that the system picks, for one provider with a new key.
        public init() {}
    }

    /// How the lab plays a UnifiedPush push server.
    public struct UnifiedPush: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// HTTPS with the same certificate as APNs.
        public var usesTLS = false
        /// Receivers whose messages the lab decrypts.
        public var receivers: [WebPushReceiver] = []
        /// What becomes of a message above 4096 bytes.
        public var oversize = Oversize.refused

        /// Without TLS on a port that the system picks; knows no receivers, and refuses what is too long.
        public init() {}

        /// How a server takes a UnifiedPush message above 4096 bytes; ntfy's other messages get 413 either way.
        public enum Oversize: Sendable, Hashable {
            /// 413, as UnifiedPush's server specification says.
            case refused
            /// Cut at 4096 bytes and accepted without a word, as ntfy does.
            case cut
        }
    }

    /// How the lab plays FCM and Google's token endpoint.
    public struct FCM: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// Whose assertions are good; each may send for its own project. The first is the operator's, whose file is written.
        public var accounts: [FCMServiceAccount]
        /// Declared from the start and again after a reset; of two with the same token, the last counts.
        public var devices: [FCMDevice] = []
        /// Whether a plausible token that was not declared is a registered device.
        public var acceptsUndeclaredDevices = true
        /// How long access tokens are good, in seconds.
        public var tokenLifetime = 3_600
        /// SETTINGS_MAX_CONCURRENT_STREAMS.
        public var streams = 100

        /// On a port that the system picks. The lab does not start without an account; the default one's key is made
        /// once for the whole process.
        public init(accounts: [FCMServiceAccount] = [.ofThisProcess]) {
            self.accounts = accounts
        }
    }

    /// How the lab plays a browser's push service.
    public struct WebPush: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// The operator's key.
        public var vapid = VAPIDCredentials()
        /// Those there are from the start and again after a reset. The lab does not start with an id or keys that are
        /// none.
        public var subscriptions: [WebPushSubscription] = []

        /// On a port that the system picks, with a new key and without subscriptions.
        public init() {}
    }

    /// How the lab plays an ntfy server.
    public struct Ntfy: Sendable {
        /// A token as ntfy makes them: `tk_` and 29 characters.
        public static let accessToken = "tk_carillonlabcarillonlabcarillo"

        /// 0 for a port that the system picks.
        public var port = 0
        /// HTTPS with the same certificate as APNs.
        public var usesTLS = false
        /// Whether topics take messages without authorization; those of UnifiedPush always do.
        public var allowsAnonymous = true
        /// Access tokens that are good, with the topics each may publish to; nil: all. Any other gets 401.
        public var accessTokens: [String: Set<String>?] = [Self.accessToken: nil]
        /// Declared from the start and again after a reset; any other topic takes messages.
        public var topics: [NtfyTopic] = []
        /// What becomes of a UnifiedPush message above 4096 bytes.
        public var oversize = UnifiedPush.Oversize.cut

        /// Without TLS on a port that the system picks; anybody may publish, and ``accessToken`` is good for all
        /// topics.
        public init() {}
    }

    /// How the lab plays a Gotify server.
    public struct Gotify: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// HTTPS with the same certificate as APNs.
        public var usesTLS = false
        /// Those that may send from the start and again after a reset, numbered from 1 in this order; the first one's
        /// token stands in `lab.json`.
        public var applications = [GotifyApplication()]

        /// Without TLS on a port that the system picks, with one application whose token is the same in every lab.
        public init() {}
    }
}

/// The addresses of a running lab and its certificate authority: the content of `lab.json`.
public struct LabAddresses: Sendable, Hashable, Codable {
    /// One of APNs' environments, with credentials for it: the first of the configuration, and a push certificate.
    public struct APNs: Sendable, Hashable, Codable {
        /// `https://localhost:PORT`
        public var url: String
        /// `iss` of provider tokens.
        public var teamID: String
        /// `kid` of provider tokens.
        public var keyID: String
        /// The app's bundle ID: the `apns-topic` of alerts. Other push types add a suffix.
        public var topic: String
        /// The file of the private key; nil if only the program has it.
        public var keyFile: String?
        /// `https://localhost:PORT`, for managing broadcast channels.
        public var channelsURL: String
        /// A push certificate with its key, in PEM; for both environments.
        public var certificateFile: String
        /// The same as PKCS#12.
        public var pkcs12File: String
        /// The password of `pkcs12File`.
        public var passwordFile: String

        private enum CodingKeys: String, CodingKey {
            case url
            case teamID = "team_id"
            case keyID = "key_id"
            case topic
            case keyFile = "key_file"
            case channelsURL = "broadcast_management"
            case certificateFile = "certificate_file"
            case pkcs12File = "certificate_p12_file"
            case passwordFile = "certificate_password_file"
        }
    }

    /// The push services of browsers, all at one origin, and the operator's key for them.
    public struct WebPush: Sendable, Hashable, Codable {
        /// `https://localhost:PORT`, the origin of all endpoints.
        public var url: String
        /// The key that browsers subscribe with, in base64url.
        public var applicationServerKey: String
        /// The file of the private key; nil if only the program has it.
        public var keyFile: String?

        private enum CodingKeys: String, CodingKey {
            case url
            case applicationServerKey = "application_server_key"
            case keyFile = "key_file"
        }
    }

    /// The addresses that browsers need to use the lab as their push service.
    public struct Browsers: Sendable, Hashable, Codable {
        /// `ws://localhost:PORT/`, for Firefox's preference `dom.push.serverURL`. It also needs
        /// `dom.push.testing.allowInsecureServerURL`.
        public var firefoxURL: String
        /// The switches for Chromium's command line.
        public var chromiumSwitches: [String]
        /// The host of Chromium's endpoints. The router's requests to it must be redirected to `webpush`.
        public var chromiumEndpointHost: String

        private enum CodingKeys: String, CodingKey {
            case firefoxURL = "firefox_url"
            case chromiumSwitches = "chromium_switches"
            case chromiumEndpointHost = "chromium_endpoint_host"
        }
    }

    /// FCM and its token endpoint.
    public struct FCM: Sendable, Hashable, Codable {
        /// `https://localhost:PORT`
        public var url: String
        /// The endpoint that exchanges assertions for access tokens.
        public var tokenURL: String
        /// The Firebase project of the first service account. It is part of the path of messages.
        public var projectID: String
        /// The file of the service account with its key.
        public var serviceAccountFile: String
        /// All projects. The first one is the one above.
        public var projects: [Project]

        /// A Firebase project and its service account.
        public struct Project: Sendable, Hashable, Codable {
            /// The ID in the path of its messages, `/v1/projects/PROJECT/messages:send`.
            public var projectID: String
            /// The file of the service account with its key.
            public var serviceAccountFile: String

            private enum CodingKeys: String, CodingKey {
                case projectID = "project_id"
                case serviceAccountFile = "service_account"
            }
        }

        private enum CodingKeys: String, CodingKey {
            case url
            case tokenURL = "token_url"
            case projectID = "project_id"
            case serviceAccountFile = "service_account"
            case projects
        }
    }

    /// The ntfy server and a token for it.
    public struct Ntfy: Sendable, Hashable, Codable {
        /// `http://localhost:PORT`, or `https` if the configuration enables TLS; to be followed by a slash and a topic.
        public var url: String
        /// A token that may publish to every topic.
        public var accessToken: String?

        private enum CodingKeys: String, CodingKey {
            case url
            case accessToken = "access_token"
        }
    }

    /// The Gotify server and a token for it.
    public struct Gotify: Sendable, Hashable, Codable {
        /// `http://localhost:PORT`, or `https` if the configuration enables TLS; to be followed by `/message`.
        public var url: String
        /// The token of the first application.
        public var token: String?
    }

    /// Production. Every lab has it.
    public var apns: APNs
    /// Nil if disabled.
    public var apnsSandbox: APNs?
    /// Nil if disabled. Default: disabled.
    public var fcm: FCM?
    /// `http://localhost:PORT`, to be followed by a slash and a topic.
    public var unifiedPush: String?
    /// Nil if disabled.
    public var webPush: WebPush?
    /// Nil if disabled. Default: disabled.
    public var browsers: Browsers?
    /// Nil if disabled.
    public var ntfy: Ntfy?
    /// Nil if disabled.
    public var gotify: Gotify?
    /// `http://localhost:PORT`, which accepts everything; nil if disabled. Default: disabled.
    public var other: String?
    /// `http://localhost:PORT`, without authentication; nil if disabled.
    public var control: String?
    /// The authority to trust, in PEM.
    public var caFile: String

    private enum CodingKeys: String, CodingKey {
        case apns
        case apnsSandbox = "apns_sandbox"
        case fcm
        case unifiedPush = "unifiedpush_url"
        case webPush = "webpush"
        case browsers
        case ntfy
        case gotify
        case other = "other_url"
        case control = "control_url"
        case caFile = "ca_file"
    }

    /// Indented, with sorted keys.
    public var json: String { jsonText(isPretty: true) ?? "{}" }
}

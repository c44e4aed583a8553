import Foundation

/// Where a running lab is reached, and what it trusts: the content of `lab.json`.
public struct LabAddresses: Sendable, Hashable, Codable {
    /// One of APNs' environments, and what to send there with: the first of the configured credentials, or a push
    /// certificate.
    public struct APNs: Sendable, Hashable, Codable {
        /// `https://localhost:PORT`
        public var url: String
        /// `iss` of provider tokens.
        public var teamID: String
        /// `kid` of provider tokens.
        public var keyID: String
        /// The app's bundle id, `apns-topic` of its alerts; that of some other push types has a suffix.
        public var topic: String
        /// Where the private key was written; nil for a key that only the program holds.
        public var keyFile: String?
        /// `https://localhost:PORT`, where broadcast channels are managed.
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

    /// The browsers' push services, all vendors' at one origin, and the operator's key for them.
    public struct WebPush: Sendable, Hashable, Codable {
        /// `https://localhost:PORT`, the origin of all endpoints.
        public var url: String
        /// What browsers subscribe with, in base64url.
        public var applicationServerKey: String
        /// Where the private key was written; nil for a key that only the program holds.
        public var keyFile: String?

        private enum CodingKeys: String, CodingKey {
            case url
            case applicationServerKey = "application_server_key"
            case keyFile = "key_file"
        }
    }

    /// FCM, and the token endpoint beside it.
    public struct FCM: Sendable, Hashable, Codable {
        /// `https://localhost:PORT`
        public var url: String
        /// Where assertions are exchanged for access tokens.
        public var tokenURL: String
        /// The Firebase project of the first service account, which stands in the path of its messages.
        public var projectID: String
        /// Where the service account was written, with its key.
        public var serviceAccountFile: String
        /// All there are; the first is the one above.
        public var projects: [Project]

        /// A Firebase project and its service account.
        public struct Project: Sendable, Hashable, Codable {
            /// What stands in the path of its messages, `/v1/projects/PROJECT/messages:send`.
            public var projectID: String
            /// Where the service account was written, with its key.
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
        /// `http://localhost:PORT`, or `https` where the configuration asks for TLS; to be followed by a slash and a topic.
        public var url: String
        /// One that may publish everywhere.
        public var accessToken: String?

        private enum CodingKeys: String, CodingKey {
            case url
            case accessToken = "access_token"
        }
    }

    /// The Gotify server and a token for it.
    public struct Gotify: Sendable, Hashable, Codable {
        /// `http://localhost:PORT`, or `https` where the configuration asks for TLS; to be followed by `/message`.
        public var url: String
        /// Of the first application.
        public var token: String?
    }

    /// Production, which every lab has.
    public var apns: APNs
    /// Nil where it was left out.
    public var apnsSandbox: APNs?
    /// Nil where it was left out, as it is by default.
    public var fcm: FCM?
    /// `http://localhost:PORT`, to be followed by a slash and a topic.
    public var unifiedPush: String?
    /// Nil where it was left out.
    public var webPush: WebPush?
    /// Nil where it was left out.
    public var ntfy: Ntfy?
    /// Nil where it was left out.
    public var gotify: Gotify?
    /// `http://localhost:PORT`, open to whoever reaches it; nil where the endpoint was left out.
    public var control: String?
    /// The authority to trust, in PEM.
    public var caFile: String

    private enum CodingKeys: String, CodingKey {
        case apns
        case apnsSandbox = "apns_sandbox"
        case fcm
        case unifiedPush = "unifiedpush_url"
        case webPush = "webpush"
        case ntfy
        case gotify
        case control = "control_url"
        case caFile = "ca_file"
    }

    /// Indented, with sorted keys.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

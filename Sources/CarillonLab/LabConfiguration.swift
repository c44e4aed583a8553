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
}

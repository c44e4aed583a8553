/// The keys of a subscription's receiving side (RFC 8291, section 2), for one topic.
public struct WebPushReceiver: Sendable, Hashable {
    public var topic: String
    /// The private key whose public half is the subscription's `p256dh`: 32 bytes.
    public var privateKey: [UInt8]
    /// 16 bytes.
    public var auth: [UInt8]
    /// UnifiedPush: the key of the only application server that may send, which the app gave its distributor (AND_3); in
    /// base64url. Nil: anybody may.
    public var applicationServerKey: String?

    public init(topic: String, privateKey: [UInt8], auth: [UInt8], applicationServerKey: String? = nil) {
        self.applicationServerKey = applicationServerKey
        self.topic = topic
        self.privateKey = privateKey
        self.auth = auth
    }
}

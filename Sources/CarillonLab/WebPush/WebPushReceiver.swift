/// The keys of a subscription's receiving side (RFC 8291, section 2), for one topic.
public struct WebPushReceiver: Sendable, Hashable {
    /// The last part of its endpoint, where its messages go: at the UnifiedPush server 1 to 64 characters of
    /// `[A-Za-z0-9_-]`, at the Web Push service up to 128.
    public var topic: String
    /// The private key whose public half is the subscription's `p256dh`: 32 bytes.
    public var privateKey: [UInt8]
    /// 16 bytes.
    public var auth: [UInt8]
    /// UnifiedPush: the key of the only application server that may send, which the app gave its distributor (AND_3); in
    /// base64url. Nil: anybody may.
    public var applicationServerKey: String?

    /// Takes keys that exist, unchecked: what is no key is refused by the lab that is given the receiver.
    public init(topic: String, privateKey: [UInt8], auth: [UInt8], applicationServerKey: String? = nil) {
        self.applicationServerKey = applicationServerKey
        self.topic = topic
        self.privateKey = privateKey
        self.auth = auth
    }
}

import Cipher

extension WebPushReceiver {
    /// Makes new keys, as an app does when it subscribes.
    public init(topic: String, applicationServerKey: String? = nil) {
        self.init(
            topic: topic,
            privateKey: P256PrivateKey().rawRepresentation,
            auth: SecureRandom.bytes(16),
            applicationServerKey: applicationServerKey
        )
    }

    /// What the app gives to its senders beside the endpoint: `p256dh` and `auth`, in base64url without padding.
    ///
    /// Throws `LabError` where the private key is no scalar of P-256.
    public func publicKeys() throws -> (p256dh: String, auth: String) {
        guard let key = try? P256PrivateKey(rawRepresentation: privateKey) else {
            throw LabError.invalid("A receiver's private key is not 32 bytes of a key on P-256.")
        }
        return (Base64URL.encode(key.publicKey.x963Representation), Base64URL.encode(auth))
    }
}

extension WebPushReceiver: Decodable {
    private enum CodingKeys: String, CodingKey {
        case topic
        case privateKey = "private_key"
        case auth
        case applicationServerKey = "vapid"
    }

    /// From `{"topic": "up…", "private_key": "<base64url>", "auth": "<base64url>", "vapid": "<base64url>"}`; without `vapid`
    /// anybody may send.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(topic: container.decode(String.self, forKey: .topic), from: decoder)
    }

    /// The keys alone, for a topic that is said elsewhere.
    init(topic: String, from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func bytes(_ key: CodingKeys, _ count: Int) throws -> [UInt8] {
            guard let bytes = Base64URL.decode(try container.decode(String.self, forKey: key)), bytes.count == count
            else {
                throw DecodingError.dataCorruptedError(
                    forKey: key,
                    in: container,
                    debugDescription: "expected \(count) bytes in base64url"
                )
            }
            return bytes
        }
        self.init(
            topic: topic,
            privateKey: try bytes(.privateKey, 32),
            auth: try bytes(.auth, 16),
            applicationServerKey: try container.decodeIfPresent(String.self, forKey: .applicationServerKey)
        )
    }
}

extension WebPushReceiver: CustomStringConvertible {
    /// Without the keys.
    public var description: String { "WebPushReceiver(topic: \(topic))" }
}

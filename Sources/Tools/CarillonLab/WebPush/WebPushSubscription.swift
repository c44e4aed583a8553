import Cipher
import Foundation

/// A browser's subscription at the lab's Web Push service.
public struct WebPushSubscription: Sendable, Hashable {
    /// The last part of its endpoint, and the browser's keys.
    public var receiver: WebPushReceiver
    /// The key of the accepted sender, in base64url; nil for any sender.
    public var applicationServerKey: String?
    /// Its push service.
    public var flavour: WebPushFlavour

    /// Takes existing keys without a check. The lab refuses a subscription with an invalid id or key.
    public init(receiver: WebPushReceiver, applicationServerKey: String?, flavour: WebPushFlavour = .apple) {
        self.receiver = receiver
        self.applicationServerKey = applicationServerKey
        self.flavour = flavour
    }

    /// Makes new keys and a new id, as a browser does when an app subscribes.
    public init(applicationServerKey: String?, flavour: WebPushFlavour = .apple) {
        self.init(
            receiver: WebPushReceiver(topic: Base64URL.encode(SecureRandom.bytes(24))),
            applicationServerKey: applicationServerKey,
            flavour: flavour
        )
    }

    /// The subscription in the form of `PushSubscription.toJSON()`.
    func json(at url: String) throws -> JSONValue {
        let keys = try receiver.publicKeys()
        return .object([
            "endpoint": .string(endpoint(at: url)),
            "keys": .object(["p256dh": .string(keys.p256dh), "auth": .string(keys.auth)]),
        ])
    }

    func endpoint(at url: String) -> String { url + flavour.folder + receiver.topic }
}

/// A request to the control endpoint for a subscription. Every member is optional.
///
/// `{"id": "…", "private_key": "<base64url>", "auth": "<base64url>", "application_server_key": "<base64url>",
/// "flavour": "mozilla"}`. Default key: the operator's; `any` accepts every sender. Default flavour: apple.
struct WebPushSubscriptionRequest: Decodable {
    private enum CodingKeys: String, CodingKey {
        case id
        case privateKey = "private_key"
        case auth
        case applicationServerKey = "application_server_key"
        case flavour
    }

    private let id: String?
    private let keys: WebPushReceiver?
    private let applicationServerKey: String?
    private let flavour: WebPushFlavour

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decodeIfPresent(String.self, forKey: .id)
        applicationServerKey = try container.decodeIfPresent(String.self, forKey: .applicationServerKey)
        let word = try container.decodeIfPresent(String.self, forKey: .flavour) ?? WebPushFlavour.apple.rawValue
        guard let flavour = WebPushFlavour(rawValue: word) else {
            let words = WebPushFlavour.allCases.map(\.rawValue).joined(separator: ", ")
            throw container.invalid(.flavour, "flavour is one of \(words)")
        }
        self.flavour = flavour
        let bringsKeys = container.contains(.privateKey) || container.contains(.auth)
        keys = bringsKeys ? try WebPushReceiver(topic: "", from: decoder) : nil
    }

    /// `ownKey` is the operator's key.
    func subscription(ownKey: String) -> WebPushSubscription {
        let key = applicationServerKey ?? ownKey
        var subscription = WebPushSubscription(applicationServerKey: key == "any" ? nil : key, flavour: flavour)
        let topic = id ?? subscription.receiver.topic
        subscription.receiver = keys ?? subscription.receiver
        subscription.receiver.topic = topic
        return subscription
    }
}

/// The current and ended subscriptions of the lab's Web Push service.
struct WebPushSubscriptions: Sendable {
    struct Entry: Sendable {
        var decryption: WebPushDecryption
        var applicationServerKey: String?
        var flavour: WebPushFlavour
        /// The browser ended it.
        var isGone = false
    }

    private var entries: [String: Entry] = [:]

    /// Throws `LabError` for an invalid id or key.
    mutating func add(_ subscription: WebPushSubscription) throws {
        let id = subscription.receiver.topic
        guard WebPushResponder.isSubscription(id[...]) else {
            throw LabError.invalid("A subscription's id is 1 to 128 characters of base64url.")
        }
        entries[id] = Entry(
            decryption: try WebPushDecryption(subscription.receiver),
            applicationServerKey: subscription.applicationServerKey,
            flavour: subscription.flavour
        )
    }

    /// Ends a subscription. Returns false if there is none.
    mutating func expire(_ id: String) -> Bool {
        guard entries[id]?.isGone == false else { return false }
        entries[id]?.isGone = true
        return true
    }

    /// A current or ended subscription; nil if there never was one.
    func entry(_ id: String) -> Entry? { entries[id] }
}

/// The receiver's keys of a subscription (RFC 8291, section 2).
public struct WebPushReceiver: Sendable, Hashable {
    /// The last part of its endpoint: 1 to 64 characters of `[A-Za-z0-9_-]` at the UnifiedPush server, up to 128 at the
    /// Web Push service.
    public var topic: String
    /// The private key whose public half is the subscription's `p256dh`: 32 bytes.
    public var privateKey: [UInt8]
    /// 16 bytes.
    public var auth: [UInt8]
    /// UnifiedPush: the key of the only application server that may send, which the app gave its distributor (AND_3),
    /// in base64url. Nil: any server may send.
    public var applicationServerKey: String?

    /// Takes existing keys without a check. The lab refuses a receiver with invalid keys.
    public init(topic: String, privateKey: [UInt8], auth: [UInt8], applicationServerKey: String? = nil) {
        self.applicationServerKey = applicationServerKey
        self.topic = topic
        self.privateKey = privateKey
        self.auth = auth
    }

    /// Makes new keys, as an app does when it subscribes.
    public init(topic: String, applicationServerKey: String? = nil) {
        self.init(
            topic: topic,
            privateKey: P256PrivateKey().rawRepresentation,
            auth: SecureRandom.bytes(16),
            applicationServerKey: applicationServerKey
        )
    }

    /// The keys that the app gives to its senders: `p256dh` and `auth`, in base64url without padding.
    ///
    /// Throws `LabError` if the private key is invalid.
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

    /// Reads `{"topic": "up…", "private_key": "<base64url>", "auth": "<base64url>", "vapid": "<base64url>"}`. Without
    /// `vapid` any server may send.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(topic: container.decode(String.self, forKey: .topic), from: decoder)
    }

    /// Reads only the keys.
    init(topic: String, from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func bytes(_ key: CodingKeys, _ count: Int) throws -> [UInt8] {
            guard let bytes = Base64URL.decode(try container.decode(String.self, forKey: key)), bytes.count == count
            else {
                throw container.invalid(key, "expected \(count) bytes in base64url")
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

/// Decrypts a Web Push message (RFC 8291) like a browser or a UnifiedPush connector.
struct WebPushDecryption {
    private let privateKey: P256PrivateKey
    private let auth: [UInt8]

    init(_ receiver: WebPushReceiver) throws {
        guard let key = try? P256PrivateKey(rawRepresentation: receiver.privateKey), receiver.auth.count == 16 else {
            throw LabError.invalid("A receiver has a private key of 32 bytes on P-256 and an auth of 16 bytes.")
        }
        privateKey = key
        auth = receiver.auth
    }

    /// The plaintext of a body with `Content-Encoding: aes128gcm`. Throws a `LabError` that describes the problem.
    func open(_ body: [UInt8]) throws -> [UInt8] {
        // RFC 8188, section 2.1: salt (16), record size (4), length of the key id (1), key id.
        guard body.count > 21 else { throw LabError.invalid("the body is shorter than its header") }
        let salt = Array(body[0..<16])
        let recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        let keyLength = Int(body[20])
        guard keyLength == 65, body.count > 21 + keyLength else {
            throw LabError.invalid("the key id is not the sender's public key of 65 bytes (RFC 8291, section 4)")
        }
        let senderPoint = Array(body[21..<(21 + keyLength)])
        let record = Array(body[(21 + keyLength)...])
        guard recordSize >= 18, record.count <= recordSize else {
            throw LabError.invalid(
                "a message is one record (RFC 8291, section 4); record size \(recordSize), got \(record.count)"
            )
        }
        guard record.count > AESGCM.tagByteCount, let sender = try? P256PublicKey(x963Representation: senderPoint)
        else {
            throw LabError.invalid("the sender's public key is not on the curve, or the record is too short")
        }
        let (key, nonce) = try keys(sender: sender, salt: salt)
        guard let padded = try? AESGCM.open(record, key: key, nonce: nonce) else {
            throw LabError.invalid("the record does not decrypt with the receiver's keys")
        }
        // RFC 8188, section 2: zeros after the delimiter, which is 2 in the last record.
        guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2 else {
            throw LabError.invalid("the record does not end with the delimiter 2 and zeros")
        }
        return Array(padded[..<end])
    }

    private func keys(sender: P256PublicKey, salt: [UInt8]) throws -> (key: [UInt8], nonce: [UInt8]) {
        let secret = try privateKey.sharedSecret(with: sender)
        // RFC 8291, section 3.4.
        let authenticated = HKDFSHA256.extract(salt: auth, inputKeyMaterial: secret)
        let keyInfo =
            Array("WebPush: info\0".utf8) + privateKey.publicKey.x963Representation + sender.x963Representation
        let material = try HKDFSHA256.expand(pseudoRandomKey: authenticated, info: keyInfo, length: 32)
        let pseudoRandomKey = HKDFSHA256.extract(salt: salt, inputKeyMaterial: material)
        return (
            try HKDFSHA256.expand(
                pseudoRandomKey: pseudoRandomKey,
                info: Array("Content-Encoding: aes128gcm\0".utf8),
                length: 16
            ),
            try HKDFSHA256.expand(
                pseudoRandomKey: pseudoRandomKey,
                info: Array("Content-Encoding: nonce\0".utf8),
                length: 12
            )
        )
    }
}

import Cipher
import Foundation
import Nostr

/// Encrypts notifications to devices (``Mode/sealed``): push services only see that there is one, and for which device.
///
/// All envelopes of one algorithm have the same length.
package struct Sealer: Sendable {
    private let random: RandomBytes

    /// `random` returns nonces and salts.
    package init(random: @escaping RandomBytes = SecureRandom.bytes) {
        self.random = random
    }

    /// Puts `notification` into an envelope, except for its urgency, expiry, neutral texts and their presentation. Its
    /// signal and count are kept for stricter modes; transports do not see them.
    ///
    /// `id` is the delivery's id, and `sender` the router's key that the device knows, for a NIP-44 conversation.
    /// Throws ``SealingError/tooLarge`` if the notification does not fit after shortening, and the ciphers' errors for
    /// an invalid key.
    package func seal(
        _ notification: Notification,
        id: DeliveryID,
        for key: SealingKey,
        from sender: SecretKey
    ) throws -> Notification {
        let plaintext = try SealedContent(notification, id: id).padded()
        let envelope: Envelope
        switch key {
        case .nip44(let publicKey):
            envelope = try .nip44(plaintext, to: publicKey, from: sender, nonce: random(Envelope.nonceByteCount))
        case .webPush(let p256dh, let auth):
            let ciphertext = try WebPushEncryption.encrypt(plaintext, p256dh: p256dh, auth: auth, random: random)
            envelope = .aes128gcm(ciphertext, from: sender)
        }
        return Notification(
            mode: .sealed,
            signal: notification.signal,
            urgency: notification.urgency,
            count: notification.count,
            expiresAt: notification.expiresAt,
            neutral: notification.neutral,
            neutralPresentation: notification.neutralPresentation,
            sealed: envelope.json
        )
    }
}

/// The envelope of a sealed notification: `{"v":1,"alg":…,"from":…,"ct":…}`.
///
/// `alg` is `nip44` (version 2, between the router's key `from` and the device's) or `aes128gcm` (RFC 8291, to the
/// device's `p256dh` and `auth`); `ct` is the payload in base64.
private struct Envelope {
    static let nonceByteCount = NIP44.nonceByteCount

    private let algorithm: String
    private let sender: String
    private let ciphertext: String

    /// Throws if `publicKey` is not a point on the curve.
    static func nip44(
        _ plaintext: [UInt8],
        to publicKey: [UInt8],
        from identity: SecretKey,
        nonce: [UInt8]
    ) throws -> Envelope {
        let key = try ConversationKey(secret: identity, public: Self.key(publicKey))
        let payload = try NIP44.encrypt(plaintext, key: key, nonce: nonce)
        return Envelope(algorithm: "nip44", sender: Hex.encode(identity.publicKeyBytes), ciphertext: payload)
    }

    private static func key(_ bytes: [UInt8]) throws -> PublicKey {
        guard let key = PublicKey(bytes: bytes) else {
            throw CipherError.wrongLength(of: "public key", expected: "32", actual: bytes.count)
        }
        return key
    }

    static func aes128gcm(_ body: [UInt8], from identity: SecretKey) -> Envelope {
        Envelope(algorithm: "aes128gcm", sender: Hex.encode(identity.publicKeyBytes), ciphertext: Base64.encode(body))
    }

    /// The envelope as JSON. Hex digits and base64 need no escapes.
    var json: String {
        #"{"v":1,"alg":"\#(algorithm)","from":"\#(sender)","ct":"\#(ciphertext)"}"#
    }
}

/// The reason why a notification cannot be sealed. Contains none of its content.
package enum SealingError: Error, Hashable, CustomStringConvertible {
    /// The parts that must not be shortened exceed ``SealedContent/byteCount`` bytes.
    case tooLarge
    /// The custom keys are not a JSON object.
    case badData

    package var description: String {
        switch self {
        case .tooLarge: "expected a notification of at most \(SealedContent.byteCount) bytes of JSON without its texts"
        case .badData: "expected custom keys that are a JSON object"
        }
    }
}

extension SealingKey {
    /// A fingerprint of the key: a number that differs between keys, and reveals no more about them.
    package var mark: Int64 {
        let bytes =
            switch self {
            case .nip44(let publicKey): [0] + publicKey
            case .webPush(let p256dh, let auth): [1] + Array(p256dh.utf8) + [0] + Array(auth.utf8)
            }
        return SHA256.mark(of: bytes)
    }
}

/// The content of an envelope. It is a JSON object with the members `t`, `n` (in a batch), `id`, `title`, `subtitle`,
/// `body`, `category`, `thread`, `url` and `actions`, if they are set. The app's custom keys are added, and override
/// members of the same name.
///
/// The object is padded with spaces to a fixed length.
struct SealedContent {
    /// Large enough for most notifications, and small enough for every push service's payload.
    static let byteCount = 2048
    /// The members that are shortened, in this order, if the content is too long.
    private static let shortened = ["referenced_event_content", "body", "subtitle", "title"]
    private static let ellipsis = "…"

    private var members: [String: Any]

    init(_ notification: Push.Notification, id: DeliveryID) throws {
        var members: [String: Any] = ["id": id.description]
        members["t"] = notification.count > 1 ? "batch" : notification.signal.rawValue
        if notification.count > 1 { members["n"] = Int(notification.count) }
        let texts = [
            "title": notification.title, "subtitle": notification.subtitle, "body": notification.body,
            "category": notification.category, "thread": notification.thread, "url": notification.url,
        ]
        for (name, text) in texts where !text.isEmpty { members[name] = text }
        if !notification.actions.isEmpty { members["actions"] = notification.actions.map(Self.button) }
        if !notification.data.isEmpty {
            let data = try? JSONSerialization.jsonObject(with: Data(notification.data.utf8))
            guard let data = data as? [String: Any] else { throw SealingError.badData }
            members.merge(data) { $1 }
        }
        self.members = members
    }

    private static func button(_ action: NotificationAction) -> [String: String] {
        ["id": action.id, "label": action.label, "url": action.url, "icon": action.icon].filter { !$0.value.isEmpty }
    }

    /// UTF-8 of exactly ``byteCount`` bytes.
    func padded() throws -> [UInt8] {
        var content = self
        var json = try content.json()
        for name in Self.shortened where json.count > Self.byteCount {
            content.shorten(name, by: json.count - Self.byteCount)
            json = try content.json()
        }
        guard json.count <= Self.byteCount else { throw SealingError.tooLarge }
        return json + [UInt8](repeating: UInt8(ascii: " "), count: Self.byteCount - json.count)
    }

    /// Removes at least `excess` bytes of JSON from a text: whole characters from its end, or the whole member.
    private mutating func shorten(_ name: String, by excess: Int) {
        guard let text = members[name] as? String else { return }
        members[name] = nil
        var room = Self.length(of: text.utf8) - excess - Self.ellipsis.utf8.count
        guard room > 0 else { return }
        var beginning = ""
        for character in text {
            room -= Self.length(of: character.utf8)
            guard room >= 0 else { break }
            beginning.append(character)
        }
        if !beginning.isEmpty { members[name] = beginning + Self.ellipsis }
    }

    /// The bytes of a text in JSON, without quotes. Computed here, because it is needed for every character of a
    /// shortened text.
    private static func length(of text: some Sequence<UInt8>) -> Int {
        text.reduce(0) { length, byte in
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x08, 0x09, 0x0A, 0x0C, 0x0D: length + 2
            case ..<0x20: length + 6
            default: length + 1
            }
        }
    }

    private func json() throws -> [UInt8] {
        Array(try JSONSerialization.data(withJSONObject: members, options: [.sortedKeys, .withoutEscapingSlashes]))
    }
}

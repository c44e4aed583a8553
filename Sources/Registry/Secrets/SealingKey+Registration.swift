import Cipher
import Nostr
import Push

extension SealingKey {
    /// The registration field with a separate key for sealing.
    static let field = "sealing_key"

    /// The key for a device whose registration has these `fields` and was signed by `author`: the key made for sealing,
    /// else the keys of its subscription (RFC 8291), else the author's.
    init(_ fields: [String: String], author: PublicKey) {
        if let key = fields[Self.field].flatMap(Self.publicKey) {
            self = .nip44(key.bytes.array)
        } else if let p256dh = fields["p256dh"], let auth = fields["auth"], Self.isSubscription(p256dh, auth) {
            self = .webPush(p256dh: p256dh, auth: auth)
        } else {
            self = .nip44(author.bytes.array)
        }
    }

    /// Returns the public key with these hex digits; nil if it is not on the curve.
    static func publicKey(_ digits: String) -> PublicKey? {
        guard let key = PublicKey(hex: digits), Schnorr.isPublicKey(key.bytes.array) else { return nil }
        return key
    }

    /// Whether the fields have the form of a subscription's keys. A transport may use their names for other data.
    private static func isSubscription(_ p256dh: String, _ auth: String) -> Bool {
        guard let point = Base64URL.decode(p256dh), let secret = Base64URL.decode(auth) else { return false }
        return point.count == 65 && point.first == 0x04 && secret.count == 16
    }
}

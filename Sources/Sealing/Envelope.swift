import Cipher
import Nostr
import Schnorr

/// What travels in place of a sealed notification: `{"v":1,"alg":…,"from":…,"ct":…}`.
///
/// `alg` is `nip44` (version 2, between the router's key `from` and the device's) or `aes128gcm` (RFC 8291, to the device's
/// `p256dh` and `auth`); `ct` is the payload in base64.
struct Envelope {
    static let nonceByteCount = NIP44.nonceByteCount

    private let algorithm: String
    private let sender: String
    private let ciphertext: String

    /// Throws when `publicKey` is no point on the curve.
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
        Envelope(
            algorithm: "aes128gcm",
            sender: Hex.encode(identity.publicKeyBytes),
            ciphertext: Base64.encode(body)
        )
    }

    /// None of it needs escapes: hex digits and base64.
    var json: String {
        #"{"v":1,"alg":"\#(algorithm)","from":"\#(sender)","ct":"\#(ciphertext)"}"#
    }
}

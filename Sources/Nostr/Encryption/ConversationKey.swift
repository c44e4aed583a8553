private import Cipher
package import Schnorr

/// The secret two keys share for all messages between them (NIP-44, "Calculate a conversation key"); the same from
/// either side.
package struct ConversationKey: Sendable, Concealed {
    private let bytes: [UInt8]

    /// Computes the key, which takes as long as verifying a signature: one that is needed often is worth keeping.
    ///
    /// Throws when `publicKey` is no point on the curve.
    package init(secret: SecretKey, public publicKey: PublicKey) throws {
        let shared = try secret.sharedX(withXOnly: publicKey.array)
        self.bytes = HKDFSHA256.extract(salt: Array("nip44-v2".utf8), inputKeyMaterial: shared)
    }

    /// Takes a key computed before.
    ///
    /// Throws unless it has 32 bytes.
    package init(bytes: [UInt8]) throws {
        guard bytes.count == 32 else {
            throw CipherError.wrongLength(of: "conversation key", expected: "32", actual: bytes.count)
        }
        self.bytes = bytes
    }

    /// Hands out the key itself: never for a log.
    package func reveal() -> [UInt8] {
        self.bytes
    }
}

/// What one message is encrypted and authenticated with (NIP-44, "Calculate message keys").
package struct MessageKeys: Sendable, Concealed {
    package let chachaKey: [UInt8]
    package let chachaNonce: [UInt8]
    package let hmacKey: [UInt8]

    /// Derives the keys of a nonce.
    ///
    /// Throws unless `nonce` has 32 bytes.
    package init(conversation: ConversationKey, nonce: [UInt8]) throws {
        guard nonce.count == NIP44.nonceByteCount else { throw NIP44Error.invalidNonce }
        let keys = try HKDFSHA256.expand(pseudoRandomKey: conversation.reveal(), info: nonce, length: 76)
        self.chachaKey = Array(keys[..<32])
        self.chachaNonce = Array(keys[32..<44])
        self.hmacKey = Array(keys[44...])
    }
}

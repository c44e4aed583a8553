private import Cipher

/// What one message is encrypted and authenticated with (NIP-44, "Calculate message keys").
package struct MessageKeys: Sendable, Concealed {
    package let chachaKey: [UInt8]
    package let chachaNonce: [UInt8]
    package let hmacKey: [UInt8]

    /// Derives the keys of a nonce.
    ///
    /// Throws unless `nonce` has 32 bytes.
    package init(conversation: ConversationKey, nonce: [UInt8]) throws {
        guard nonce.count == NIP44.nonceByteCount else {
            throw NIP44Error.invalidNonce
        }
        let keys = try HKDFSHA256.expand(pseudoRandomKey: conversation.reveal(), info: nonce, length: 76)
        self.chachaKey = Array(keys[..<32])
        self.chachaNonce = Array(keys[32..<44])
        self.hmacKey = Array(keys[44...])
    }
}

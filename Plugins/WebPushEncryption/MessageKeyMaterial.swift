import Cipher

/// The way from a key agreement to the key material of one message (RFC 8291 section 3.4).
package struct MessageKeyMaterial: Sendable, Concealed {
    /// The RFC's `PRK_key`.
    package let pseudoRandomKey: [UInt8]
    /// The RFC's `key_info`.
    package let keyInfo: [UInt8]
    /// The RFC's `IKM`: 32 bytes.
    package let inputKeyMaterial: [UInt8]

    /// `receiver` and `sender` are uncompressed points.
    package init(sharedSecret: [UInt8], authenticationSecret: [UInt8], receiver: [UInt8], sender: [UInt8]) {
        self.pseudoRandomKey = HKDFSHA256.extract(salt: authenticationSecret, inputKeyMaterial: sharedSecret)
        self.keyInfo = Array("WebPush: info\0".utf8) + receiver + sender
        // One block of HKDF's expansion, as the RFC writes it.
        self.inputKeyMaterial = HMACSHA256.authenticationCode(for: self.keyInfo + [1], key: self.pseudoRandomKey)
    }
}

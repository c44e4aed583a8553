import Cipher

/// What the records of one message are encrypted with (RFC 8188 sections 2.2 and 2.3).
package struct ContentKeys: Sendable, Concealed {
    /// 16 bytes.
    package let contentEncryptionKey: [UInt8]
    /// The nonce of the first record, 12 bytes.
    package let nonceBase: [UInt8]

    package init(inputKeyMaterial: [UInt8], salt: [UInt8]) throws {
        let key = HKDFSHA256.extract(salt: salt, inputKeyMaterial: inputKeyMaterial)
        self.contentEncryptionKey = try HKDFSHA256.expand(
            pseudoRandomKey: key,
            info: Array("Content-Encoding: aes128gcm\0".utf8),
            length: 16
        )
        self.nonceBase = try HKDFSHA256.expand(
            pseudoRandomKey: key,
            info: Array("Content-Encoding: nonce\0".utf8),
            length: AESGCM.nonceByteCount
        )
    }

    /// Returns the nonce of a record: the base, with the record's number (from 0) folded into its end.
    package func nonce(ofRecord number: UInt64) -> [UInt8] {
        let folded = self.nonceBase.suffix(8).enumerated().map { index, byte in
            byte ^ UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64(index)))
        }
        return self.nonceBase.dropLast(8) + folded
    }
}

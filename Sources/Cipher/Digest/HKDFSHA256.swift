/// The two steps of HKDF with SHA-256 (RFC 5869), which only composes HMAC.
package enum HKDFSHA256 {
    /// The longest output of ``expand(pseudoRandomKey:info:length:)`` in bytes (RFC 5869 section 2.3).
    package static let maximumLength = 255 * HMACSHA256.byteCount

    /// Concentrates key material into a pseudorandom key of 32 bytes (RFC 5869 section 2.2).
    package static func extract(salt: [UInt8], inputKeyMaterial: [UInt8]) -> [UInt8] {
        HMACSHA256.authenticationCode(for: inputKeyMaterial, key: salt)
    }

    /// Stretches a pseudorandom key to `length` bytes (RFC 5869 section 2.3).
    ///
    /// Throws when `length` lies outside 0 to 8160.
    package static func expand(pseudoRandomKey: [UInt8], info: [UInt8], length: Int) throws -> [UInt8] {
        guard (0...self.maximumLength).contains(length) else {
            throw CipherError.wrongLength(of: "HKDF output", expected: "0 to \(self.maximumLength)", actual: length)
        }
        var output: [UInt8] = []
        output.reserveCapacity(length + HMACSHA256.byteCount)
        var block: [UInt8] = []
        var counter: UInt8 = 1
        while output.count < length {
            block = HMACSHA256.authenticationCode(for: block + info + [counter], key: pseudoRandomKey)
            output += block
            counter &+= 1
        }
        output.removeLast(output.count - length)
        return output
    }
}

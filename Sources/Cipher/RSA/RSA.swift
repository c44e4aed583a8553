import COpenSSL

/// What private and public RSA keys share.
enum RSA {
    /// NIST SP 800-57 part 1, table 4: shorter moduli are disallowed since 2014.
    static let minimumBitCount = 2048

    /// Throws unless a key of libcrypto is a plain RSA key of a length that is safe. RSA-PSS keys are none: they must not
    /// sign with PKCS#1 v1.5 padding (RFC 8017).
    static func check(_ key: OpaquePointer) throws {
        guard EVP_PKEY_is_a(key, "RSA") == 1 else {
            throw CipherError.notRSA
        }
        let bitCount = Int(EVP_PKEY_get_bits(key))
        guard bitCount >= self.minimumBitCount else {
            throw CipherError.shortRSAKey(bitCount: bitCount)
        }
    }
}

import COpenSSL

/// The ChaCha20 stream cipher (RFC 8439 section 2.4), without an authenticator.
package enum ChaCha20 {
    /// Fetched once, immutable and never freed, so it is safe to share.
    nonisolated(unsafe) private static let implementation: OpaquePointer? = EVP_CIPHER_fetch(nil, "ChaCha20", nil)

    /// Encrypts or decrypts (the same operation), with the block counter starting at 0.
    ///
    /// Throws unless `key` has 32 and `nonce` 12 bytes.
    package static func apply(to bytes: [UInt8], key: [UInt8], nonce: [UInt8]) throws -> [UInt8] {
        guard key.count == 32 else {
            throw CipherError.wrongLength(of: "ChaCha20 key", expected: "32", actual: key.count)
        }
        guard nonce.count == 12 else {
            throw CipherError.wrongLength(of: "ChaCha20 nonce", expected: "12", actual: nonce.count)
        }
        // A block is 64 bytes and the counter has 32 bits; libcrypto counts in Int32.
        guard let count = Int32(exactly: bytes.count) else {
            throw CipherError.wrongLength(of: "ChaCha20 input", expected: "less than 2^31", actual: bytes.count)
        }
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        // libcrypto's 16-byte vector is the little-endian counter followed by RFC 8439's nonce.
        let vector = [0, 0, 0, 0] + nonce
        guard EVP_EncryptInit_ex2(context, self.implementation, key, vector, nil) == 1 else {
            Library.clearErrors()
            throw CipherError.libraryFailure(operation: "ChaCha20")
        }
        guard count > 0 else { return [] }
        return try [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, initialized in
            var written: Int32 = 0
            guard EVP_EncryptUpdate(context, buffer.baseAddress, &written, bytes, count) == 1, written == count else {
                Library.clearErrors()
                throw CipherError.libraryFailure(operation: "ChaCha20")
            }
            initialized = bytes.count
        }
    }
}

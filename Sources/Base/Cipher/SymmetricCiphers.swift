import COpenSSL

/// AES in Galois/Counter Mode with a 12-byte nonce and a 16-byte tag (NIST SP 800-38D).
package enum AESGCM {
    /// The length of the tag in bytes.
    package static let tagByteCount = 16
    /// The length of a nonce in bytes.
    package static let nonceByteCount = 12

    /// Fetched once, immutable and never freed, so it is safe to share.
    nonisolated(unsafe) private static let aes128: OpaquePointer? = EVP_CIPHER_fetch(nil, "AES-128-GCM", nil)
    /// Fetched once, immutable and never freed, so it is safe to share.
    nonisolated(unsafe) private static let aes256: OpaquePointer? = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)

    /// Encrypts, and returns the ciphertext followed by the tag.
    ///
    /// A nonce must never be used twice with the same key. Throws unless `key` has 16 or 32 and `nonce` 12 bytes.
    package static func seal(
        _ plaintext: [UInt8],
        key: [UInt8],
        nonce: [UInt8],
        authenticating additionalData: [UInt8] = []
    ) throws -> [UInt8] {
        let count = try self.libraryCount(plaintext.count)
        let additionalCount = try self.libraryCount(additionalData.count)
        let cipher = try self.cipher(key: key, nonce: nonce)
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        return try [UInt8](unsafeUninitializedCapacity: plaintext.count + self.tagByteCount) { buffer, initialized in
            var written: Int32 = 0
            guard
                let output = buffer.baseAddress,
                EVP_EncryptInit_ex2(context, cipher, key, nonce, nil) == 1,
                additionalCount == 0
                    || EVP_EncryptUpdate(context, nil, &written, additionalData, additionalCount) == 1,
                count == 0 || EVP_EncryptUpdate(context, output, &written, plaintext, count) == 1,
                EVP_EncryptFinal_ex(context, output + plaintext.count, &written) == 1,
                EVP_CIPHER_CTX_ctrl(
                    context,
                    EVP_CTRL_AEAD_GET_TAG,
                    Int32(self.tagByteCount),
                    output + plaintext.count
                ) == 1
            else {
                Library.clearErrors()
                throw CipherError.libraryFailure(operation: "AES-GCM encryption")
            }
            initialized = plaintext.count + self.tagByteCount
        }
    }

    /// Decrypts a ciphertext followed by its tag.
    ///
    /// Throws ``CipherError/authenticationFailed`` unless key, nonce and additional data are the same as for sealing.
    package static func open(
        _ sealed: [UInt8],
        key: [UInt8],
        nonce: [UInt8],
        authenticating additionalData: [UInt8] = []
    ) throws -> [UInt8] {
        guard sealed.count >= self.tagByteCount else {
            throw CipherError.wrongLength(of: "AES-GCM ciphertext", expected: "at least 16", actual: sealed.count)
        }
        let plainCount = sealed.count - self.tagByteCount
        let count = try self.libraryCount(plainCount)
        let additionalCount = try self.libraryCount(additionalData.count)
        let cipher = try self.cipher(key: key, nonce: nonce)
        var tag = Array(sealed[plainCount...])
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        // One extra byte: libcrypto requires an output buffer even for an empty plaintext.
        return try [UInt8](unsafeUninitializedCapacity: plainCount + 1) { buffer, initialized in
            var written: Int32 = 0
            guard
                let output = buffer.baseAddress,
                EVP_DecryptInit_ex2(context, cipher, key, nonce, nil) == 1,
                additionalCount == 0
                    || EVP_DecryptUpdate(context, nil, &written, additionalData, additionalCount) == 1,
                count == 0 || EVP_DecryptUpdate(context, output, &written, sealed, count) == 1,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(self.tagByteCount), &tag) == 1
            else {
                Library.clearErrors()
                throw CipherError.libraryFailure(operation: "AES-GCM decryption")
            }
            guard EVP_DecryptFinal_ex(context, output + plainCount, &written) == 1 else {
                Library.clearErrors()
                OPENSSL_cleanse(output, plainCount)
                throw CipherError.authenticationFailed
            }
            initialized = plainCount
        }
    }

    private static func cipher(key: [UInt8], nonce: [UInt8]) throws -> OpaquePointer? {
        guard nonce.count == self.nonceByteCount else {
            throw CipherError.wrongLength(of: "AES-GCM nonce", expected: "12", actual: nonce.count)
        }
        switch key.count {
        case 16: return self.aes128
        case 32: return self.aes256
        default: throw CipherError.wrongLength(of: "AES-GCM key", expected: "16 or 32", actual: key.count)
        }
    }

    private static func libraryCount(_ count: Int) throws -> Int32 {
        guard let count = Int32(exactly: count) else {
            throw CipherError.wrongLength(of: "AES-GCM input", expected: "less than 2^31", actual: count)
        }
        return count
    }
}

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

import COpenSSL

/// Hashes one message after the other with SHA-256 in one context of libcrypto, allocating nothing.
///
/// For one thread at a time.
package final class SHA256Hasher {
    private let context: OpaquePointer

    package init() {
        let context = EVP_MD_CTX_new()
        Library.require(context != nil, "EVP_MD_CTX_new")
        self.context = context.unsafelyUnwrapped
    }

    deinit {
        EVP_MD_CTX_free(self.context)
    }

    /// Writes the digest of `bytes` to the start of `digest`, which must have room for 32 bytes.
    package func hash(_ bytes: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer) {
        precondition(digest.count >= SHA256.byteCount, "a SHA-256 digest needs 32 bytes")
        let status =
            EVP_DigestInit_ex2(self.context, SHA256.implementation, nil)
            & EVP_DigestUpdate(self.context, bytes.baseAddress, bytes.count)
            & EVP_DigestFinal_ex(self.context, digest.assumingMemoryBound(to: UInt8.self).baseAddress, nil)
        Library.require(status == 1, "EVP_DigestFinal_ex")
    }
}

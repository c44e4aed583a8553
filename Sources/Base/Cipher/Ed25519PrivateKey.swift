import COpenSSL

/// An Ed25519 private key (RFC 8032): signs.
///
/// Unchecked Sendable: the libcrypto key is never changed after init, and libcrypto allows several threads to read it.
/// Each operation makes its own context.
package final class Ed25519PrivateKey: @unchecked Sendable, Concealed {
    private static let byteCount = 32
    private static let signatureByteCount = 64

    private let key: OpaquePointer
    /// 32 bytes.
    package let publicKey: [UInt8]

    /// Reads the 32 bytes of a seed. Throws for another length.
    package init(seed: [UInt8]) throws {
        guard seed.count == Self.byteCount else {
            throw CipherError.wrongLength(of: "Ed25519 seed", expected: "32", actual: seed.count)
        }
        guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count) else {
            throw CipherError.invalidSecretKey
        }
        var point = [UInt8](repeating: 0, count: Self.byteCount)
        var count = point.count
        let status = EVP_PKEY_get_raw_public_key(key, &point, &count)
        Library.require(status == 1 && count == Self.byteCount, "EVP_PKEY_get_raw_public_key")
        self.key = key
        self.publicKey = point
    }

    deinit {
        EVP_PKEY_free(self.key)
    }

    /// Returns the 64 bytes of the signature of a message.
    package func sign(_ message: [UInt8]) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: Self.signatureByteCount)
        var count = signature.count
        Library.require(
            EVP_DigestSignInit(context, nil, nil, nil, self.key) == 1
                && EVP_DigestSign(context, &signature, &count, message, message.count) == 1
                && count == Self.signatureByteCount,
            "EVP_DigestSign"
        )
        return signature
    }
}

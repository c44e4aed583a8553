import COpenSSL

/// An RSA public key: the verifying half of RS256 (RFC 7518 section 3.3).
///
/// Unchecked Sendable: the key of libcrypto is never changed after init, and libcrypto allows reading one from several
/// threads at once; each operation makes its own context.
package final class RSAPublicKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// Takes over `key`, an RSA key, and frees it in the end.
    init(adopting key: OpaquePointer) {
        self.key = key
    }

    /// Reads a PEM text with a `PUBLIC KEY` block.
    ///
    /// Throws when there is none, and when its key is no RSA key of 2048 bits or more.
    package convenience init(pem: String) throws {
        guard let key = PEM.publicKey(pem) else {
            throw CipherError.unreadablePEM(expected: "a PUBLIC KEY block")
        }
        do {
            try RSA.check(key)
        } catch {
            EVP_PKEY_free(key)
            throw error
        }
        self.init(adopting: key)
    }

    deinit {
        EVP_PKEY_free(self.key)
    }

    /// The key as a PEM text with a `PUBLIC KEY` block.
    package var pemRepresentation: String {
        PEM.write(publicKey: self.key)
    }

    /// Whether `signature` was made over `message` with the private half of this key (RFC 8017 section 8.2.2).
    package func isValidRS256(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        let isValid =
            EVP_DigestVerifyInit(context, nil, SHA256.implementation, nil, self.key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        if !isValid {
            Library.clearErrors()
        }
        return isValid
    }
}

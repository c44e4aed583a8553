import COpenSSL

/// An RSA private key: signs RS256 (RFC 7518 section 3.3).
///
/// Unchecked Sendable: the key of libcrypto is never changed after init, and libcrypto allows reading one from several
/// threads at once; each operation makes its own context.
package final class RSAPrivateKey: @unchecked Sendable, Concealed {
    private let key: OpaquePointer

    private init(adopting key: OpaquePointer) {
        self.key = key
    }

    /// Makes a fresh key of 2048 bits, which takes some 100 ms.
    package convenience init() {
        let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        let isMade =
            EVP_PKEY_keygen_init(context) == 1
            && EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(RSA.minimumBitCount)) == 1
            && EVP_PKEY_generate(context, &key) == 1
        Library.require(isMade && key != nil, "EVP_PKEY_generate")
        self.init(adopting: key.unsafelyUnwrapped)
    }

    /// Reads a PEM text with a `PRIVATE KEY` (PKCS#8, as in Google's service account files) or `RSA PRIVATE KEY`
    /// (PKCS#1) block.
    ///
    /// Throws when there is none, when it needs a passphrase, and when its key is no RSA key of 2048 bits or more.
    package convenience init(pem: String) throws {
        guard let key = PEM.privateKey(pem) else {
            throw CipherError.unreadablePEM(expected: "a PRIVATE KEY (PKCS#8) or RSA PRIVATE KEY block")
        }
        self.init(adopting: try RSA.checked(key))
    }

    deinit {
        EVP_PKEY_free(self.key)
    }

    /// The public half.
    package var publicKey: RSAPublicKey {
        // The same key of libcrypto serves as the public half, which saves making a second one.
        Library.require(EVP_PKEY_up_ref(self.key) == 1, "EVP_PKEY_up_ref")
        return RSAPublicKey(adopting: self.key)
    }

    /// The key as a PEM text with a `PRIVATE KEY` block (PKCS#8), not encrypted: the secret itself.
    package var pemRepresentation: String {
        PEM.write(privateKey: self.key)
    }

    /// Signs a message with PKCS#1 v1.5 padding over its SHA-256 (RFC 8017 section 8.2.1); the same message always
    /// gives the same bytes, as many as the modulus has.
    ///
    /// Throws when libcrypto has no memory, and when the numbers of the key do not belong together.
    package func signRS256(_ message: [UInt8]) throws -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(self.key)))
        var count = signature.count
        // PKCS#1 v1.5 is libcrypto's default for RSA keys.
        guard
            EVP_DigestSignInit(context, nil, SHA256.implementation, nil, self.key) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == signature.count
        else {
            Library.clearErrors()
            throw CipherError.libraryFailure(operation: "RS256 signing")
        }
        return signature
    }
}

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
        guard let key = PEM.publicKey(pem) else { throw CipherError.unreadablePEM(expected: "a PUBLIC KEY block") }
        self.init(adopting: try RSA.checked(key))
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

/// What private and public RSA keys share.
enum RSA {
    /// NIST SP 800-57 part 1, table 4: shorter moduli are disallowed since 2014.
    static let minimumBitCount = 2048

    /// Returns a key of libcrypto that is a plain RSA key of a length that is safe; frees any other and throws. RSA-PSS
    /// keys are none: they must not sign with PKCS#1 v1.5 padding (RFC 8017).
    static func checked(_ key: OpaquePointer) throws -> OpaquePointer {
        do {
            guard EVP_PKEY_is_a(key, "RSA") == 1 else { throw CipherError.notRSA }
            let bitCount = Int(EVP_PKEY_get_bits(key))
            guard bitCount >= self.minimumBitCount else { throw CipherError.shortRSAKey(bitCount: bitCount) }
            return key
        } catch {
            EVP_PKEY_free(key)
            throw error
        }
    }
}

import COpenSSL

/// An RSA private key: signs RS256 (RFC 7518 section 3.3).
///
/// Unchecked Sendable: the libcrypto key is never changed after init, and libcrypto allows several threads to read it.
/// Each operation makes its own context.
package final class RSAPrivateKey: @unchecked Sendable, Concealed {
    private let key: OpaquePointer

    private init(adopting key: OpaquePointer) {
        self.key = key
    }

    /// Makes a new key of 2048 bits, which takes some 100 ms.
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

    /// Reads a PEM string with a `PRIVATE KEY` (PKCS#8, as in Google's service account files) or `RSA PRIVATE KEY`
    /// (PKCS#1) block.
    ///
    /// Throws if there is none, if it is encrypted, or if its key is not an RSA key of 2048 bits or more.
    package convenience init(pem: String) throws {
        guard let key = PEM.privateKey(pem) else {
            throw CipherError.unreadablePEM(expected: "a PRIVATE KEY (PKCS#8) or RSA PRIVATE KEY block")
        }
        self.init(adopting: try RSA.checked(key))
    }

    deinit {
        EVP_PKEY_free(self.key)
    }

    package var publicKey: RSAPublicKey {
        // Both halves share one libcrypto key, which avoids making a second one.
        Library.require(EVP_PKEY_up_ref(self.key) == 1, "EVP_PKEY_up_ref")
        return RSAPublicKey(adopting: self.key)
    }

    /// The key as PEM with a `PRIVATE KEY` block (PKCS#8), not encrypted: the secret itself.
    package var pemRepresentation: String {
        PEM.write(privateKey: self.key)
    }

    /// Signs a message with PKCS#1 v1.5 padding over its SHA-256 (RFC 8017 section 8.2.1). The signature is
    /// deterministic and as long as the modulus.
    ///
    /// Throws if libcrypto has no memory, or if the numbers of the key do not match.
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

/// An RSA public key: verifies RS256 (RFC 7518 section 3.3).
///
/// Unchecked Sendable: the libcrypto key is never changed after init, and libcrypto allows several threads to read it.
/// Each operation makes its own context.
package final class RSAPublicKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// Takes ownership of `key`, an RSA key.
    init(adopting key: OpaquePointer) {
        self.key = key
    }

    /// Reads a PEM string with a `PUBLIC KEY` block.
    ///
    /// Throws if there is none, or if its key is not an RSA key of 2048 bits or more.
    package convenience init(pem: String) throws {
        guard let key = PEM.publicKey(pem) else { throw CipherError.unreadablePEM(expected: "a PUBLIC KEY block") }
        self.init(adopting: try RSA.checked(key))
    }

    deinit {
        EVP_PKEY_free(self.key)
    }

    /// The key as PEM with a `PUBLIC KEY` block.
    package var pemRepresentation: String {
        PEM.write(publicKey: self.key)
    }

    /// Whether `signature` is the private key's signature of `message` (RFC 8017 section 8.2.2).
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

/// Shared checks of private and public RSA keys.
enum RSA {
    /// NIST SP 800-57 part 1, table 4: shorter moduli have been disallowed since 2014.
    static let minimumBitCount = 2048

    /// Returns a libcrypto key that is a plain RSA key of a safe length; frees any other key and throws. RSA-PSS keys
    /// are refused because they must not sign with PKCS#1 v1.5 padding (RFC 8017).
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

import COpenSSL

/// A private key on P-256: signs ES256 (RFC 7518 section 3.4) and agrees on secrets.
///
/// Unchecked Sendable: the key of libcrypto is never changed after init, and libcrypto allows reading one from several
/// threads at once; each operation makes its own context.
package final class P256PrivateKey: @unchecked Sendable, Concealed {
    private let key: OpaquePointer

    package let publicKey: P256PublicKey

    private init(adopting key: OpaquePointer, point: [UInt8]) {
        self.key = key
        // The same key of libcrypto serves as the public half, which saves making a second one.
        Library.require(EVP_PKEY_up_ref(key) == 1, "EVP_PKEY_up_ref")
        self.publicKey = P256PublicKey(adopting: key, x963Representation: point)
    }

    /// Makes a fresh key.
    package convenience init() {
        let key = P256.makeFreshKey()
        var point = [UInt8](repeating: 0, count: P256.pointByteCount)
        var count = 0
        let status = EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, &point, point.count, &count)
        Library.require(status == 1 && count == P256.pointByteCount, "EVP_PKEY_get_octet_string_param")
        self.init(adopting: key, point: point)
    }

    /// Reads the 32 bytes of a scalar, most significant first.
    ///
    /// Throws for another length, and for a number that is zero or not below the order of the curve.
    package convenience init(rawRepresentation: [UInt8]) throws {
        guard rawRepresentation.count == P256.scalarByteCount else {
            throw CipherError.wrongLength(of: "P-256 private key", expected: "32", actual: rawRepresentation.count)
        }
        guard
            let point = P256.point(of: rawRepresentation),
            let key = P256.makeKey(point: point, scalar: rawRepresentation)
        else { throw CipherError.invalidSecretKey }
        self.init(adopting: key, point: point)
    }

    /// Reads a PEM text with a `PRIVATE KEY` (PKCS#8, as in Apple's `.p8` files) or `EC PRIVATE KEY` (SEC 1) block.
    ///
    /// Throws when there is none, when it needs a passphrase, and when its key is not on P-256.
    package convenience init(pem: String) throws {
        guard let key = PEM.privateKey(pem) else {
            throw CipherError.unreadablePEM(expected: "a PRIVATE KEY (PKCS#8) or EC PRIVATE KEY block")
        }
        defer { EVP_PKEY_free(key) }
        guard P256.isOnCurve(key), let scalar = P256.number(OSSL_PKEY_PARAM_PRIV_KEY, of: key) else {
            throw CipherError.notP256
        }
        try self.init(rawRepresentation: scalar)
    }

    deinit {
        EVP_PKEY_free(self.key)
    }

    /// The 32 bytes of the scalar, most significant first: the secret itself.
    package var rawRepresentation: [UInt8] {
        let scalar = P256.number(OSSL_PKEY_PARAM_PRIV_KEY, of: self.key)
        Library.require(scalar != nil, "EVP_PKEY_get_bn_param")
        return scalar ?? []
    }

    /// The key as a PEM text with a `PRIVATE KEY` block (PKCS#8), not encrypted: the secret itself.
    package var pemRepresentation: String {
        PEM.write(privateKey: self.key)
    }

    /// Signs a message, and returns r and s, 32 bytes each (RFC 7518 section 3.4).
    ///
    /// Throws only when libcrypto has no memory or no entropy.
    package func signES256(_ message: [UInt8]) throws -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var encoded = [UInt8](repeating: 0, count: ECDSASignature.maximumDERByteCount)
        var count = encoded.count
        guard
            EVP_DigestSignInit(context, nil, SHA256.implementation, nil, self.key) == 1,
            EVP_DigestSign(context, &encoded, &count, message, message.count) == 1,
            let signature = ECDSASignature.raw(of: Array(encoded.prefix(count)))
        else {
            Library.clearErrors()
            throw CipherError.libraryFailure(operation: "ES256 signing")
        }
        return signature
    }

    /// Agrees on the 32 bytes that the owner of `publicKey` computes with this key's public half (SEC 1 section 3.3.1).
    ///
    /// The bytes are not evenly distributed: derive keys from them. Throws only when libcrypto fails.
    package func sharedSecret(with publicKey: P256PublicKey) throws -> [UInt8] {
        let context = EVP_PKEY_CTX_new_from_pkey(nil, self.key, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var secret = [UInt8](repeating: 0, count: P256.scalarByteCount)
        var count = secret.count
        // The peer is not validated again: a P256PublicKey holds a point on the curve, and the curve has no other
        // subgroups.
        guard
            EVP_PKEY_derive_init(context) == 1,
            EVP_PKEY_derive_set_peer_ex(context, publicKey.key, 0) == 1,
            EVP_PKEY_derive(context, &secret, &count) == 1, count == P256.scalarByteCount
        else {
            Library.clearErrors()
            throw CipherError.libraryFailure(operation: "ECDH")
        }
        return secret
    }
}

import COpenSSL

/// A public key on P-256: the verifying half of ES256 (RFC 7518 section 3.4), and one side of a key agreement.
///
/// Unchecked Sendable: the key of libcrypto is never changed after init, and libcrypto allows reading one from several
/// threads at once; each operation makes its own context.
package final class P256PublicKey: @unchecked Sendable {
    let key: OpaquePointer

    /// The uncompressed point: 65 bytes, the first of them 4 (SEC 1 section 2.3.3).
    package let x963Representation: [UInt8]

    /// Takes over `key`, which must hold the point `x963Representation`, and frees it in the end.
    init(adopting key: OpaquePointer, x963Representation: [UInt8]) {
        self.key = key
        self.x963Representation = x963Representation
    }

    /// Reads an uncompressed point.
    ///
    /// Throws unless it is 65 bytes, begins with 4 and lies on the curve.
    package convenience init(x963Representation: [UInt8]) throws {
        guard x963Representation.count == P256.pointByteCount else {
            throw CipherError.wrongLength(
                of: "P-256 public key",
                expected: "65 (an uncompressed point)",
                actual: x963Representation.count
            )
        }
        guard x963Representation.first == 4, let key = P256.makeKey(point: x963Representation, scalar: nil) else {
            throw CipherError.notOnCurve
        }
        self.init(adopting: key, x963Representation: x963Representation)
    }

    /// Reads a PEM text with a `PUBLIC KEY` block.
    ///
    /// Throws when there is none, or its key is not on P-256.
    package convenience init(pem: String) throws {
        guard let key = PEM.publicKey(pem) else { throw CipherError.unreadablePEM(expected: "a PUBLIC KEY block") }
        defer { EVP_PKEY_free(key) }
        guard
            P256.isOnCurve(key),
            let x = P256.number(OSSL_PKEY_PARAM_EC_PUB_X, of: key),
            let y = P256.number(OSSL_PKEY_PARAM_EC_PUB_Y, of: key)
        else { throw CipherError.notP256 }
        try self.init(x963Representation: [4] + x + y)
    }

    deinit {
        EVP_PKEY_free(self.key)
    }

    /// The key as a PEM text with a `PUBLIC KEY` block.
    package var pemRepresentation: String {
        PEM.write(publicKey: self.key)
    }

    /// Whether `signature`, 64 bytes of r and s, was made over `message` with the private half of this key
    /// (RFC 7518 section 3.4).
    package func isValidES256(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        guard let encoded = ECDSASignature.der(of: signature) else { return false }
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        let isValid =
            EVP_DigestVerifyInit(context, nil, SHA256.implementation, nil, self.key) == 1
            && EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1
        if !isValid {
            Library.clearErrors()
        }
        return isValid
    }
}

/// The two forms of an ECDSA signature on P-256: r and s side by side, as JOSE has them, and libcrypto's DER.
enum ECDSASignature {
    static let rawByteCount = 64
    /// A sequence of two numbers of at most 33 bytes.
    static let maximumDERByteCount = 72

    static func raw(of der: [UInt8]) -> [UInt8]? {
        let signature = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &start, bytes.count)
        }
        guard let signature else { return nil }
        defer { ECDSA_SIG_free(signature) }
        var r = [UInt8](repeating: 0, count: P256.scalarByteCount)
        var s = r
        let size = Int32(P256.scalarByteCount)
        guard
            BN_bn2binpad(ECDSA_SIG_get0_r(signature), &r, size) == size,
            BN_bn2binpad(ECDSA_SIG_get0_s(signature), &s, size) == size
        else { return nil }
        return r + s
    }

    static func der(of raw: [UInt8]) -> [UInt8]? {
        guard raw.count == self.rawByteCount, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let size = Int32(P256.scalarByteCount)
        let r = BN_bin2bn(raw, size, nil)
        let s = BN_bin2bn(Array(raw[P256.scalarByteCount...]), size, nil)
        guard ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var der = [UInt8](repeating: 0, count: self.maximumDERByteCount)
        let count = der.withUnsafeMutableBufferPointer { bytes in
            var end = bytes.baseAddress
            return i2d_ECDSA_SIG(signature, &end)
        }
        return count > 0 ? Array(der.prefix(Int(count))) : nil
    }
}

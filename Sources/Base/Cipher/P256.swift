import COpenSSL

/// Shared parts of private and public P-256 keys: the curve, and libcrypto keys from plain bytes.
enum P256 {
    static let scalarByteCount = 32
    static let pointByteCount = 65

    /// EVP_PKEY_PUBLIC_KEY and EVP_PKEY_KEYPAIR, macros that Swift does not import.
    private static let publicSelection =
        OSSL_KEYMGMT_SELECT_DOMAIN_PARAMETERS | OSSL_KEYMGMT_SELECT_OTHER_PARAMETERS | OSSL_KEYMGMT_SELECT_PUBLIC_KEY
    private static let pairSelection = publicSelection | OSSL_KEYMGMT_SELECT_PRIVATE_KEY

    /// Makes a libcrypto key from a point, and from a scalar for a private key. Returns `nil` if libcrypto refuses
    /// them, such as a point off the curve. The caller frees it.
    static func makeKey(point: [UInt8], scalar: [UInt8]?) -> OpaquePointer? {
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var point = point
        var native = scalar.map(self.nativeOrder) ?? []
        defer { OPENSSL_cleanse(&native, native.count) }
        var key: OpaquePointer?
        let status = point.withUnsafeMutableBytes { point in
            native.withUnsafeMutableBufferPointer { native in
                // OSSL_PKEY_PARAM_GROUP_NAME, _PUB_KEY and _PRIV_KEY.
                var parameters = [OSSL_PARAM.text("group", "prime256v1"), .octets("pub", point)]
                if scalar != nil {
                    parameters.append(.number("priv", native))
                }
                parameters.append(.end)
                let selection = scalar == nil ? self.publicSelection : self.pairSelection
                return EVP_PKEY_fromdata_init(context) == 1
                    && EVP_PKEY_fromdata(context, &key, selection, &parameters) == 1
            }
        }
        if !status {
            Library.clearErrors()
        }
        return status ? key : nil
    }

    /// Makes a new key pair. The caller frees it.
    static func makeFreshKey() -> OpaquePointer {
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        let isMade =
            EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_CTX_set_group_name(context, "prime256v1") == 1
            && EVP_PKEY_generate(context, &key) == 1
        Library.require(isMade && key != nil, "EVP_PKEY_generate")
        return key.unsafelyUnwrapped
    }

    /// Returns the uncompressed point of a scalar; `nil` unless the scalar is at least 1 and below the order of the
    /// curve.
    static func point(of scalar: [UInt8]) -> [UInt8]? {
        let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
        let point = EC_POINT_new(group)
        let number = BN_bin2bn(scalar, Int32(truncatingIfNeeded: scalar.count), nil)
        defer {
            BN_clear_free(number)
            EC_POINT_free(point)
            EC_GROUP_free(group)
        }
        guard
            scalar.count == self.scalarByteCount, BN_is_zero(number) == 0,
            BN_cmp(number, EC_GROUP_get0_order(group)) < 0
        else { return nil }
        Library.require(EC_POINT_mul(group, point, number, nil, nil, nil) == 1, "EC_POINT_mul")
        var encoded = [UInt8](repeating: 0, count: self.pointByteCount)
        let count = EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &encoded, encoded.count, nil)
        Library.require(count == self.pointByteCount, "EC_POINT_point2oct")
        return encoded
    }

    /// Whether a libcrypto key is on this curve.
    static func isOnCurve(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else {
            Library.clearErrors()
            return false
        }
        return OBJ_sn2nid(name) == NID_X9_62_prime256v1
    }

    /// Returns one number of a libcrypto key as 32 bytes, most significant first.
    static func number(_ name: String, of key: OpaquePointer) -> [UInt8]? {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1 else {
            Library.clearErrors()
            return nil
        }
        defer { BN_clear_free(number) }
        var bytes = [UInt8](repeating: 0, count: self.scalarByteCount)
        return BN_bn2binpad(number, &bytes, Int32(self.scalarByteCount)) == self.scalarByteCount ? bytes : nil
    }

    /// Converts a number, most significant byte first, to the byte order of libcrypto's parameters on this machine.
    private static func nativeOrder(_ scalar: [UInt8]) -> [UInt8] {
        let isLittleEndian = UInt16(1).littleEndian == 1
        return isLittleEndian ? scalar.reversed() : scalar
    }
}

/// A P-256 public key: verifies ES256 (RFC 7518 section 3.4) and takes part in a key agreement.
///
/// Unchecked Sendable: the libcrypto key is never changed after init, and libcrypto allows several threads to read it.
/// Each operation makes its own context.
package final class P256PublicKey: @unchecked Sendable {
    let key: OpaquePointer

    /// The uncompressed point: 65 bytes, the first of which is 4 (SEC 1 section 2.3.3).
    package let x963Representation: [UInt8]

    /// Takes ownership of `key`, whose point must be `x963Representation`.
    init(adopting key: OpaquePointer, x963Representation: [UInt8]) {
        self.key = key
        self.x963Representation = x963Representation
    }

    /// Reads an uncompressed point.
    ///
    /// Throws unless it is 65 bytes, starts with 4 and is on the curve.
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

    /// Reads a PEM string with a `PUBLIC KEY` block.
    ///
    /// Throws if there is none, or if its key is not on P-256.
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

    /// The key as PEM with a `PUBLIC KEY` block.
    package var pemRepresentation: String {
        PEM.write(publicKey: self.key)
    }

    /// Whether `signature`, 64 bytes of r and s, is the private key's signature of `message` (RFC 7518 section 3.4).
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

/// The two forms of an ECDSA signature on P-256: the concatenation of r and s, as in JOSE, and libcrypto's DER.
enum ECDSASignature {
    static let rawByteCount = 64
    /// A sequence of two numbers of up to 33 bytes.
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

/// A P-256 private key: signs ES256 (RFC 7518 section 3.4) and derives shared secrets.
///
/// Unchecked Sendable: the libcrypto key is never changed after init, and libcrypto allows several threads to read it.
/// Each operation makes its own context.
package final class P256PrivateKey: @unchecked Sendable, Concealed {
    private let key: OpaquePointer

    package let publicKey: P256PublicKey

    private init(adopting key: OpaquePointer, point: [UInt8]) {
        self.key = key
        // Both halves share one libcrypto key, which avoids making a second one.
        Library.require(EVP_PKEY_up_ref(key) == 1, "EVP_PKEY_up_ref")
        self.publicKey = P256PublicKey(adopting: key, x963Representation: point)
    }

    /// Makes a new key.
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

    /// Reads a PEM string with a `PRIVATE KEY` (PKCS#8, as in Apple's `.p8` files) or `EC PRIVATE KEY` (SEC 1) block.
    ///
    /// Throws if there is none, if it is encrypted, or if its key is not on P-256.
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

    /// The key as PEM with a `PRIVATE KEY` block (PKCS#8), not encrypted: the secret itself.
    package var pemRepresentation: String {
        PEM.write(privateKey: self.key)
    }

    /// Signs a message, and returns r and s, 32 bytes each (RFC 7518 section 3.4).
    ///
    /// Throws only if libcrypto has no memory or no entropy.
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

    /// Returns the shared secret, 32 bytes, which is the same for the owner of `publicKey` (SEC 1 section 3.3.1).
    ///
    /// The bytes are not uniformly distributed: derive keys from them. Throws only if libcrypto fails.
    package func sharedSecret(with publicKey: P256PublicKey) throws -> [UInt8] {
        let context = EVP_PKEY_CTX_new_from_pkey(nil, self.key, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var secret = [UInt8](repeating: 0, count: P256.scalarByteCount)
        var count = secret.count
        // The peer is not validated again: a P256PublicKey is always on the curve, and the curve has no other
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

import COpenSSL

/// What private and public keys on P-256 share: the curve, and keys of libcrypto made of plain bytes.
enum P256 {
    static let scalarByteCount = 32
    static let pointByteCount = 65

    /// EVP_PKEY_PUBLIC_KEY and EVP_PKEY_KEYPAIR, macros that Swift does not import.
    private static let publicSelection =
        OSSL_KEYMGMT_SELECT_DOMAIN_PARAMETERS | OSSL_KEYMGMT_SELECT_OTHER_PARAMETERS | OSSL_KEYMGMT_SELECT_PUBLIC_KEY
    private static let pairSelection = publicSelection | OSSL_KEYMGMT_SELECT_PRIVATE_KEY

    /// Makes a key of libcrypto of a point, and of a scalar if it is to be a private one; `nil` when libcrypto refuses
    /// them, as it does for a point off the curve. The caller frees it.
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

    /// Makes a fresh pair of keys. The caller frees it.
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

    /// Computes the uncompressed point that belongs to a scalar; `nil` unless the scalar lies between 1 and the order
    /// of the curve.
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
        let count = EC_POINT_point2oct(
            group,
            point,
            POINT_CONVERSION_UNCOMPRESSED,
            &encoded,
            encoded.count,
            nil
        )
        Library.require(count == self.pointByteCount, "EC_POINT_point2oct")
        return encoded
    }

    /// Whether a key of libcrypto lies on this curve.
    static func isOnCurve(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else {
            Library.clearErrors()
            return false
        }
        return OBJ_sn2nid(name) == NID_X9_62_prime256v1
    }

    /// Reads one number of a key of libcrypto as 32 bytes, most significant first.
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

    /// Turns a number, most significant byte first, into the order that libcrypto's parameters have on this machine.
    private static func nativeOrder(_ scalar: [UInt8]) -> [UInt8] {
        let isLittleEndian = UInt16(1).littleEndian == 1
        return isLittleEndian ? scalar.reversed() : scalar
    }
}

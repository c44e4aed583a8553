import COpenSSL

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
        guard let signature else {
            return nil
        }
        defer { ECDSA_SIG_free(signature) }
        var r = [UInt8](repeating: 0, count: P256.scalarByteCount)
        var s = r
        let size = Int32(P256.scalarByteCount)
        guard
            BN_bn2binpad(ECDSA_SIG_get0_r(signature), &r, size) == size,
            BN_bn2binpad(ECDSA_SIG_get0_s(signature), &s, size) == size
        else {
            return nil
        }
        return r + s
    }

    static func der(of raw: [UInt8]) -> [UInt8]? {
        guard raw.count == self.rawByteCount, let signature = ECDSA_SIG_new() else {
            return nil
        }
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

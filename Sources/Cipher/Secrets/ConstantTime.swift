import COpenSSL

/// Comparisons whose duration says nothing about where two values differ.
package enum ConstantTime {
    /// Whether both hold the same bytes. The lengths are not secret.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}

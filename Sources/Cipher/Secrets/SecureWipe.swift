import COpenSSL

/// Overwrites secrets that are no longer needed, which an optimiser may not leave out.
package enum SecureWipe {
    package static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        OPENSSL_cleanse(bytes.baseAddress, bytes.count)
    }
}

import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The length of a digest in bytes.
    package static let byteCount = 32

    /// libcrypto's implementation, looked up once: a look-up costs as much as hashing a short message. Unsafe in name
    /// only: a fetched digest is immutable, and never freed.
    nonisolated(unsafe) static let implementation: OpaquePointer = {
        let digest = EVP_MD_fetch(nil, "SHA256", nil)
        Library.require(digest != nil, "EVP_MD_fetch")
        return digest.unsafelyUnwrapped
    }()

    /// Returns the 32 bytes of the digest.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { self.hash($0) }
    }

    /// Returns the 32 bytes of the digest.
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: self.byteCount) { buffer, initialized in
            let status = EVP_Digest(bytes.baseAddress, bytes.count, buffer.baseAddress, nil, self.implementation, nil)
            Library.require(status == 1, "EVP_Digest")
            initialized = self.byteCount
        }
    }
}

import COpenSSL

/// HMAC with SHA-256 (RFC 2104).
package enum HMACSHA256 {
    /// The length of a code in bytes.
    package static let byteCount = 32

    /// Looked up once, immutable and never freed, hence safe to share.
    nonisolated(unsafe) private static let implementation: OpaquePointer = {
        let mac = EVP_MAC_fetch(nil, "HMAC", nil)
        Library.require(mac != nil, "EVP_MAC_fetch")
        return mac.unsafelyUnwrapped
    }()

    /// Returns the 32 bytes that authenticate `message` under `key`, which may have any length.
    package static func authenticationCode(for message: [UInt8], key: [UInt8]) -> [UInt8] {
        let context = EVP_MAC_CTX_new(self.implementation)
        defer { EVP_MAC_CTX_free(context) }
        // libcrypto takes an absent key for "keep the last one"; RFC 2104 pads a key with zeros, so this is the same key.
        let key = key.isEmpty ? [0] : key
        // OSSL_MAC_PARAM_DIGEST.
        let started = EVP_MAC_init(context, key, key.count, [OSSL_PARAM.text("digest", "SHA256"), .end])
        Library.require(started == 1, "EVP_MAC_init")
        return [UInt8](unsafeUninitializedCapacity: self.byteCount) { buffer, initialized in
            let status =
                EVP_MAC_update(context, message, message.count)
                & EVP_MAC_final(context, buffer.baseAddress, &initialized, buffer.count)
            Library.require(status == 1, "EVP_MAC_final")
        }
    }
}

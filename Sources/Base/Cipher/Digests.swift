import COpenSSL
import Synchronization

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The length of a digest in bytes.
    package static let byteCount = 32

    /// libcrypto's implementation, fetched once: a fetch costs as much as hashing a short message.
    /// `nonisolated(unsafe)` is safe: a fetched digest is immutable and never freed.
    nonisolated(unsafe) static let implementation: OpaquePointer = {
        let digest = EVP_MD_fetch(nil, "SHA256", nil)
        Library.require(digest != nil, "EVP_MD_fetch")
        return digest.unsafelyUnwrapped
    }()

    /// Returns the 32 bytes of the digest.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { self.hash($0) }
    }

    /// Returns the first eight bytes of the digest as a number, which identifies `bytes` and reveals no more about them.
    package static func mark(of bytes: [UInt8]) -> Int64 {
        hash(bytes).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
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

/// Hashes messages with SHA-256 in one reusable libcrypto context, without allocating.
///
/// Not thread-safe.
package final class SHA256Hasher {
    private let context: OpaquePointer

    package init() {
        let context = EVP_MD_CTX_new()
        Library.require(context != nil, "EVP_MD_CTX_new")
        self.context = context.unsafelyUnwrapped
    }

    deinit {
        EVP_MD_CTX_free(self.context)
    }

    /// Writes the digest of `bytes` to the start of `digest`, which must have at least 32 bytes.
    package func hash(_ bytes: UnsafeRawBufferPointer, into digest: UnsafeMutableRawBufferPointer) {
        precondition(digest.count >= SHA256.byteCount, "a SHA-256 digest needs 32 bytes")
        let status =
            EVP_DigestInit_ex2(self.context, SHA256.implementation, nil)
            & EVP_DigestUpdate(self.context, bytes.baseAddress, bytes.count)
            & EVP_DigestFinal_ex(self.context, digest.assumingMemoryBound(to: UInt8.self).baseAddress, nil)
        Library.require(status == 1, "EVP_DigestFinal_ex")
    }
}

/// The SHA-256 digest of bytes that arrive in parts. Not thread-safe.
package final class SHA256Stream {
    private let context: OpaquePointer

    package init() {
        let context = EVP_MD_CTX_new()
        Library.require(context != nil, "EVP_MD_CTX_new")
        self.context = context.unsafelyUnwrapped
        Library.require(EVP_DigestInit_ex2(self.context, SHA256.implementation, nil) == 1, "EVP_DigestInit_ex2")
    }

    deinit {
        EVP_MD_CTX_free(self.context)
    }

    package func update(_ bytes: some Collection<UInt8>) {
        let status =
            bytes.withContiguousStorageIfAvailable { EVP_DigestUpdate(self.context, $0.baseAddress, $0.count) }
            ?? Array(bytes).withUnsafeBytes { EVP_DigestUpdate(self.context, $0.baseAddress, $0.count) }
        Library.require(status == 1, "EVP_DigestUpdate")
    }

    /// Returns the 32 bytes of the digest. Call it once, after the last part.
    package func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { buffer, initialized in
            let status = EVP_DigestFinal_ex(self.context, buffer.baseAddress, nil)
            Library.require(status == 1, "EVP_DigestFinal_ex")
            initialized = SHA256.byteCount
        }
    }
}

/// HMAC with SHA-256 (RFC 2104).
package enum HMACSHA256 {
    /// The length of a code in bytes.
    package static let byteCount = 32

    /// Fetched once, immutable and never freed, so it is safe to share.
    nonisolated(unsafe) private static let implementation: OpaquePointer = {
        let mac = EVP_MAC_fetch(nil, "HMAC", nil)
        Library.require(mac != nil, "EVP_MAC_fetch")
        return mac.unsafelyUnwrapped
    }()

    /// Returns the 32 bytes that authenticate `message` under `key`, which may have any length.
    package static func authenticationCode(for message: [UInt8], key: [UInt8]) -> [UInt8] {
        let context = self.context(key: key)
        defer { EVP_MAC_CTX_free(context) }
        return self.authenticationCode(for: message, context)
    }

    /// Returns a libcrypto context initialized with `key`.
    fileprivate static func context(key: [UInt8]) -> OpaquePointer {
        let context = EVP_MAC_CTX_new(self.implementation)
        Library.require(context != nil, "EVP_MAC_CTX_new")
        // For libcrypto, an empty key means "keep the last one". RFC 2104 pads keys with zeros, so this is the same
        // key.
        let key = key.isEmpty ? [0] : key
        // OSSL_MAC_PARAM_DIGEST.
        let started = EVP_MAC_init(context, key, key.count, [OSSL_PARAM.text("digest", "SHA256"), .end])
        Library.require(started == 1, "EVP_MAC_init")
        return context.unsafelyUnwrapped
    }

    fileprivate static func authenticationCode(for message: [UInt8], _ context: OpaquePointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: self.byteCount) { buffer, initialized in
            let status =
                EVP_MAC_update(context, message, message.count)
                & EVP_MAC_final(context, buffer.baseAddress, &initialized, buffer.count)
            Library.require(status == 1, "EVP_MAC_final")
        }
    }
}

/// HMAC with SHA-256 for many messages with one key. The key is set up only once.
package final class HMACSHA256Authenticator: Sendable {
    // `nonisolated(unsafe)` is safe: it is only used under the lock.
    private nonisolated(unsafe) let context: OpaquePointer
    private let lock = Mutex(())

    package init(key: [UInt8]) { self.context = HMACSHA256.context(key: key) }

    deinit { EVP_MAC_CTX_free(self.context) }

    /// Writes the 32 bytes that authenticate `message` to the start of `code`, which must have at least 32 bytes.
    package func authenticate(_ message: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer) {
        precondition(code.count >= HMACSHA256.byteCount, "a code needs 32 bytes")
        let (start, bytes) = (
            code.assumingMemoryBound(to: UInt8.self).baseAddress, message.assumingMemoryBound(to: UInt8.self)
        )
        let status = self.lock.withLock { _ in
            var length = 0
            // Restart with the same key.
            return EVP_MAC_init(self.context, nil, 0, nil)
                & EVP_MAC_update(self.context, bytes.baseAddress, bytes.count)
                & EVP_MAC_final(self.context, start, &length, HMACSHA256.byteCount)
        }
        Library.require(status == 1, "EVP_MAC_final")
    }
}

/// The two steps of HKDF with SHA-256 (RFC 5869), composed of HMACs.
package enum HKDFSHA256 {
    /// The longest output of ``expand(pseudoRandomKey:info:length:)`` in bytes (RFC 5869 section 2.3).
    package static let maximumLength = 255 * HMACSHA256.byteCount

    /// Concentrates key material into a pseudorandom key of 32 bytes (RFC 5869 section 2.2).
    package static func extract(salt: [UInt8], inputKeyMaterial: [UInt8]) -> [UInt8] {
        HMACSHA256.authenticationCode(for: inputKeyMaterial, key: salt)
    }

    /// Expands a pseudorandom key to `length` bytes (RFC 5869 section 2.3).
    ///
    /// Throws unless `length` is from 0 to 8160.
    package static func expand(pseudoRandomKey: [UInt8], info: [UInt8], length: Int) throws -> [UInt8] {
        guard (0...self.maximumLength).contains(length) else {
            throw CipherError.wrongLength(of: "HKDF output", expected: "0 to \(self.maximumLength)", actual: length)
        }
        var output: [UInt8] = []
        output.reserveCapacity(length + HMACSHA256.byteCount)
        var block: [UInt8] = []
        var counter: UInt8 = 1
        while output.count < length {
            block = HMACSHA256.authenticationCode(for: block + info + [counter], key: pseudoRandomKey)
            output += block
            counter &+= 1
        }
        output.removeLast(output.count - length)
        return output
    }
}

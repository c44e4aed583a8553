import COpenSSL

/// Where random bytes come from; injected, so that tests reproduce published vectors.
package typealias RandomBytes = @Sendable (_ count: Int) -> [UInt8]

/// libcrypto's generator, seeded by the kernel and reseeded after a fork.
package enum SecureRandom {
    /// Returns `count` unpredictable bytes; none if `count` is not positive.
    package static func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else {
            return []
        }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var filled = 0
            while filled < count {
                let part = min(count - filled, Int(Int32.max))
                let status = RAND_bytes(buffer.baseAddress.map { $0 + filled }, Int32(part))
                Library.require(status == 1, "random bytes")
                filled += part
            }
            initialized = count
        }
    }
}

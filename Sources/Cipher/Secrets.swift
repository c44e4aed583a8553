import COpenSSL

/// A value that holds a secret and shows nothing of it: neither described, nor interpolated, nor dumped.
package protocol Concealed: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Concealed {
    package var description: String {
        "\(Self.self)(concealed)"
    }

    package var debugDescription: String {
        self.description
    }

    package var customMirror: Mirror {
        Mirror(self, children: [])
    }
}

/// Comparisons in constant time.
package enum ConstantTime {
    /// Whether both hold the same bytes. The lengths are not secret.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}

/// Where random bytes come from; injected, so that tests reproduce published vectors.
package typealias RandomBytes = @Sendable (_ count: Int) -> [UInt8]

/// libcrypto's generator, seeded by the kernel and reseeded after a fork.
package enum SecureRandom {
    /// Returns `count` unpredictable bytes; none if `count` is not positive.
    package static func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
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

/// Overwrites secrets that are no longer needed, which an optimiser may not leave out.
package enum SecureWipe {
    package static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        OPENSSL_cleanse(bytes.baseAddress, bytes.count)
    }
}

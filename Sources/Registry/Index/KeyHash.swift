import Nostr

/// A seeded hash over all bytes of a key.
///
/// Whoever picks the keys that are registered or looked up could aim at one place of a table whose hash is known, or
/// looks at some of the bytes only. What it makes of a key under one seed is on disk (``FollowedKeys``), so it stays as it is.
struct KeyHash: Sendable {
    private let seeds: (UInt64, UInt64, UInt64, UInt64, UInt64)

    init(using generator: inout some RandomNumberGenerator) {
        seeds = (generator.next(), generator.next(), generator.next(), generator.next(), generator.next())
    }

    static let seedByteCount = 40

    /// With a secret seed of ``seedByteCount`` bytes.
    init(seed: [UInt8]) {
        precondition(seed.count == Self.seedByteCount, "a seed is five words")
        let words = seed.withUnsafeBytes { bytes in
            (0..<5).map { UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self)) }
        }
        seeds = (words[0], words[1], words[2], words[3], words[4])
    }

    @inline(__always)
    func callAsFunction(_ key: Bytes32) -> UInt64 {
        let first = Self.fold(key.words.0 ^ seeds.0, key.words.1 ^ seeds.1)
        let second = Self.fold(key.words.2 ^ seeds.2, key.words.3 ^ seeds.3)
        return Self.fold(first ^ seeds.4, second &+ 0x9E37_79B9_7F4A_7C15)
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

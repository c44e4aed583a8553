/// A seeded hash over all bytes of a key.
///
/// With a known hash, or one that reads only some of the bytes, strangers could choose keys that all fall into one
/// place of a table. Hashes are on disk (``FollowedKeys``), so the function must never change.
package struct KeyHash: Sendable {
    /// For sets and dictionaries in memory: its seed differs with each start.
    static let ofThisProcess: KeyHash = {
        var generator = SystemRandomNumberGenerator()
        return KeyHash(using: &generator)
    }()

    private let seeds: (UInt64, UInt64, UInt64, UInt64, UInt64)

    package init(using generator: inout some RandomNumberGenerator) {
        seeds = (generator.next(), generator.next(), generator.next(), generator.next(), generator.next())
    }

    package static let seedByteCount = 40

    /// With a secret seed of ``seedByteCount`` bytes.
    package init(seed: [UInt8]) {
        precondition(seed.count == Self.seedByteCount, "a seed is five words")
        let words = seed.withUnsafeBytes { bytes in
            (0..<5).map { UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * $0, as: UInt64.self)) }
        }
        seeds = (words[0], words[1], words[2], words[3], words[4])
    }

    @inline(__always)
    package func callAsFunction(_ key: Bytes32) -> UInt64 {
        let first = Self.fold(key.words.0 ^ seeds.0, key.words.1 ^ seeds.1)
        let second = Self.fold(key.words.2 ^ seeds.2, key.words.3 ^ seeds.3)
        return Self.fold(first ^ seeds.4, second &+ 0x9E37_79B9_7F4A_7C15)
    }

    /// The hash for a table with a seed of its own.
    @inline(__always)
    func callAsFunction(_ key: Bytes32, seed: Int) -> Int {
        let hash = Self.fold(self(key) ^ UInt64(truncatingIfNeeded: seed), 0x9E37_79B9_7F4A_7C15)
        return Int(truncatingIfNeeded: hash)
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

import Nostr
import Synchronization

/// A Bloom filter of account keys that any thread reads without a lock. If it is full, one other key in about 190 is a
/// false positive.
///
/// All four bits of a key are in one word, so a lookup reads memory once. One thread at a time inserts keys. Keys
/// cannot be removed: build a new filter instead. It uses two to four bytes per key.
package final class AccountBloomFilter: Sendable {
    /// The minimum capacity. A smaller filter would save no significant memory.
    private static let smallestCapacity = 1 << 12
    private static let bitsPerKey = 16

    /// The number of keys at which the filter is full. More keys only raise the rate of false positives.
    package let capacity: Int
    /// `nonisolated(unsafe)` is safe: the words are atomic and live as long as this object.
    private nonisolated(unsafe) let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let count: Int
    private let hash: KeyHash

    /// Creates an empty filter for at least that many keys.
    package convenience init(capacity: Int) {
        var generator = SystemRandomNumberGenerator()
        self.init(capacity: capacity, using: &generator)
    }

    init(capacity: Int, using generator: inout some RandomNumberGenerator) {
        var rounded = Self.smallestCapacity
        while rounded < capacity { rounded *= 2 }
        self.capacity = rounded
        count = rounded * Self.bitsPerKey / UInt64.bitWidth
        hash = KeyHash(using: &generator)
        words = .allocate(capacity: count)
        for place in 0..<count { (words + place).initialize(to: Atomic(0)) }
    }

    deinit {
        words.deinitialize(count: count)
        words.deallocate()
    }

    /// Inserts a key. Returns false if the filter already seemed to contain it.
    @discardableResult
    package func insert(_ key: Bytes32) -> Bool {
        let hash = hash(key)
        let bits = Self.bits(of: hash)
        return words[place(of: hash)].bitwiseOr(bits, ordering: .releasing).oldValue & bits != bits
    }

    /// Whether any of `keys` may have been inserted; false is certain.
    package func mayContain(anyOf keys: [Bytes32]) -> Bool { keys.contains { mayContain($0) } }

    /// Whether a key may have been inserted; false is certain.
    @inline(__always)
    package func mayContain(_ key: Bytes32) -> Bool {
        let hash = hash(key)
        let bits = Self.bits(of: hash)
        return words[place(of: hash)].load(ordering: .acquiring) & bits == bits
    }

    @inline(__always)
    private func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (count - 1) }

    /// Returns the four bits of a key in its word, from the upper part of the hash.
    @inline(__always)
    private static func bits(of hash: UInt64) -> UInt64 {
        1 << (hash >> 40 & 63) | 1 << (hash >> 46 & 63) | 1 << (hash >> 52 & 63) | 1 << (hash >> 58)
    }
}

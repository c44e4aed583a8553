import Nostr
import Synchronization

/// A Bloom filter of account keys that any thread reads without a lock. About one key in 300 is a false positive.
///
/// All four bits of a key are in one word, so a lookup reads memory once. One thread at a time inserts keys. Keys
/// cannot be removed: build a new filter instead. It uses two to four bytes per key.
package final class AccountBloomFilter: Sendable {
    /// Below that a filter is so small that its size does not matter.
    private static let smallestCapacity = 1 << 12
    private static let bitsPerKey = 16

    /// How many keys may be inserted before too many others look as if they were.
    package let capacity: Int
    /// Unsafe in name only: the words are atomic and live as long as this.
    private nonisolated(unsafe) let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let count: Int
    private let hash: KeyHash

    /// An empty filter for at least that many keys.
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

    /// Returns false where the key looked as if it was there.
    @discardableResult
    package func insert(_ key: Bytes32) -> Bool {
        let hash = hash(key)
        let bits = Self.bits(of: hash)
        return words[place(of: hash)].bitwiseOr(bits, ordering: .releasing).oldValue & bits != bits
    }

    /// False only where none of `keys` was inserted.
    package func mayContain(anyOf keys: [Bytes32]) -> Bool { keys.contains { mayContain($0) } }

    /// False only for a key that was not inserted.
    @inline(__always)
    package func mayContain(_ key: Bytes32) -> Bool {
        let hash = hash(key)
        let bits = Self.bits(of: hash)
        return words[place(of: hash)].load(ordering: .acquiring) & bits == bits
    }

    @inline(__always)
    private func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (count - 1) }

    /// Four bits of a word, by the upper part of the hash.
    @inline(__always)
    private static func bits(of hash: UInt64) -> UInt64 {
        1 << (hash >> 40 & 63) | 1 << (hash >> 46 & 63) | 1 << (hash >> 52 & 63) | 1 << (hash >> 58)
    }
}

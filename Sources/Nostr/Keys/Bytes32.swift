/// Thirty-two bytes held in place: an event id, a public key. Four words, so that it is compared, hashed and copied
/// without touching the heap.
package struct Bytes32: Hashable, Sendable {
    /// The bytes in their order in memory; only meaningful on the machine that holds them.
    package var words: (UInt64, UInt64, UInt64, UInt64)

    package init(words: (UInt64, UInt64, UInt64, UInt64)) {
        self.words = words
    }

    package static func == (left: Bytes32, right: Bytes32) -> Bool {
        left.words == right.words
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
        hasher.combine(words.3)
    }
}

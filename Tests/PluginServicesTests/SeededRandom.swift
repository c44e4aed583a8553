/// The same numbers for the same seed.
struct SeededRandom {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    /// Below `limit`.
    mutating func next(_ limit: UInt64) -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return (state >> 11) % limit
    }
}

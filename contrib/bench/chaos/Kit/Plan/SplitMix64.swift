/// The generator of Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014): small, and the same
/// everywhere for the same seed.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    /// A generator of its own for each `purpose`: what one draws moves no other's draws.
    package init(seed: UInt64, for purpose: String) {
        // FNV-1a: `Hasher` differs from run to run.
        let hash = purpose.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        self.init(seed: seed ^ hash)
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}

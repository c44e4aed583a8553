/// Lots that fall the same way for the same seed (SplitMix64).
struct Lots: Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// True in the given part of cases, from 0 to 1.
    mutating func fall(_ share: Double) -> Bool {
        // 53 bits, as many as a Double has between 0 and 1.
        Double(next() >> 11) * 0x1p-53 < share
    }

    private mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

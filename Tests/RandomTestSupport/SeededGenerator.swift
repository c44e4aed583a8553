/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators"): the same numbers for the same
/// seed, so that a failing run can be had again.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) {
        state = seed
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// True in `part` of all draws, from 0 to 1.
    public mutating func chance(_ part: Double) -> Bool { Double(next() >> 11) / Double(1 << 53) < part }

    public mutating func below(_ limit: UInt64) -> UInt64 { UInt64.random(in: 0..<limit, using: &self) }

    public mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// True once in `count` draws.
    public mutating func once(in count: Int) -> Bool { number(1...count) == 1 }

    public mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
}

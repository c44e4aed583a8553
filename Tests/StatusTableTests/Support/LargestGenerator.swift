/// Always draws the largest number: every backoff is as long as it can be.
struct LargestGenerator: RandomNumberGenerator, Sendable {
    mutating func next() -> UInt64 { .max }
}

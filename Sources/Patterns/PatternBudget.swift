/// How much work applying patterns may still be.
///
/// Work is counted and not timed, so that the same value always comes to the same verdict: a unit is a step of the matcher, or
/// eight bytes that it runs over. The usual budget is a few milliseconds of a processor's time.
package struct PatternBudget: Sendable {
    /// Enough to look for most expressions all over a text of 64 KiB.
    package static let usual = 150_000

    package private(set) var left: Int

    package init(units: Int = Self.usual) {
        left = units
    }

    package var isUsedUp: Bool { left <= 0 }

    mutating func spend(_ units: Int) {
        left -= units
    }

    mutating func exhaust() {
        left = 0
    }
}

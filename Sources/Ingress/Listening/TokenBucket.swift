/// Lets a burst through and then so many a second.
package struct TokenBucket: Sendable {
    private let capacity: Double
    private let perSecond: Double
    private var tokens: Double
    /// Milliseconds on the caller's clock.
    private var filledAt: Int64

    package init(capacity: Double, perSecond: Double, now: Int64) {
        self.capacity = capacity
        self.perSecond = perSecond
        self.tokens = capacity
        self.filledAt = now
    }

    /// Whether one more, or so many more, may pass at `now`: all or nothing. A clock that jumps back gives nothing and takes nothing.
    package mutating func take(_ count: Double = 1, at now: Int64) -> Bool {
        tokens = min(capacity, tokens + Double(max(0, now - filledAt)) / 1000 * perSecond)
        filledAt = now
        guard tokens >= count else { return false }
        tokens -= count
        return true
    }

    /// What passed has come to nothing after all.
    package mutating func giveBack(_ count: Double = 1) { tokens = min(capacity, tokens + count) }
}

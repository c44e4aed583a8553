/// A token bucket: allows a burst, and then a steady rate. Both may change; the time since the last tokens were taken
/// then counts at the new rate.
package struct TokenBucket: Sendable {
    package var capacity: Double
    package var perSecond: Double
    private var tokens: Double
    private var filledAt: Timestamp

    package init(capacity: Double, perSecond: Double, now: Timestamp) {
        self.capacity = capacity
        self.perSecond = perSecond
        self.tokens = capacity
        self.filledAt = now
    }

    /// Takes `count` tokens at `now`, all or none. Returns whether it did. A clock that jumps back adds and removes no
    /// tokens.
    package mutating func take(_ count: Double = 1, at now: Timestamp) -> Bool {
        fill(at: now)
        guard tokens >= count else { return false }
        tokens -= count
        return true
    }

    /// Returns the tokens of an action that was allowed and then failed.
    package mutating func giveBack(_ count: Double = 1) { tokens = min(capacity, tokens + count) }

    /// Returns when the next token is available.
    package mutating func next(after now: Timestamp) -> Timestamp {
        fill(at: now)
        let missing = 1 - tokens
        return missing <= 0 ? now : now + .milliseconds(Int64((missing / perSecond * 1_000).rounded(.up)))
    }

    /// Removes all tokens.
    package mutating func empty(at now: Timestamp) {
        tokens = 0
        filledAt = now
    }

    /// Adds the tokens that have accrued until `now`.
    package mutating func fill(at now: Timestamp) {
        tokens = min(capacity, tokens + Double(max(0, now.milliseconds - filledAt.milliseconds)) / 1000 * perSecond)
        filledAt = now
    }
}

/// One token bucket for each key, in bounded memory. A key that is evicted starts with a full bucket again; that
/// requires at least half of `capacity` other keys to arrive first.
package struct RateTable<Key: Hashable & Sendable>: Sendable {
    private let burst: Double
    private let perSecond: Double
    private var buckets: BoundedCache<Key, TokenBucket>

    /// `capacity` is the maximum number of keys.
    package init(burst: Int, perSecond: Double, capacity: Int) {
        self.burst = Double(burst)
        self.perSecond = perSecond
        buckets = BoundedCache(capacity: capacity)
    }

    package var count: Int { buckets.count }

    /// How long to wait after a refusal, in whole seconds.
    package var pause: Duration { .seconds(max(1, Int((1 / perSecond).rounded(.up)))) }

    /// Takes `count` tokens of `key` at `now`, all or none. Returns whether it did.
    package mutating func take(_ key: Key, _ count: Int = 1, now: Timestamp) -> Bool {
        var bucket = buckets.value(of: key) ?? TokenBucket(capacity: burst, perSecond: perSecond, now: now)
        defer { buckets.set(bucket, for: key) }
        return bucket.take(Double(count), at: now)
    }

    /// Returns the tokens of an action of `key` that was allowed and then failed.
    package mutating func giveBack(_ key: Key, _ count: Int = 1) {
        guard var bucket = buckets.value(of: key) else { return }
        bucket.giveBack(Double(count))
        buckets.set(bucket, for: key)
    }
}

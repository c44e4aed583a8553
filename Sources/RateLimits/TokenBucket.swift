/// A token bucket: lets a burst through, and then a steady rate.
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

    /// Whether `count` more may pass at `now`: all or nothing. A clock that jumps back adds and removes no tokens.
    package mutating func take(_ count: Double = 1, at now: Int64) -> Bool {
        tokens = min(capacity, tokens + Double(max(0, now - filledAt)) / 1000 * perSecond)
        filledAt = now
        guard tokens >= count else { return false }
        tokens -= count
        return true
    }

    /// Returns the tokens of something that passed and then failed.
    package mutating func giveBack(_ count: Double = 1) { tokens = min(capacity, tokens + count) }
}

/// One token bucket per key, in bounded memory.
///
/// Two generations: a bucket found in the older one moves to the younger. When the younger is full, the older is
/// dropped. A dropped key starts with a full bucket again; at least half of `capacity` other keys must arrive before
/// that happens.
package struct RateTable<Key: Hashable & Sendable>: Sendable {
    private let burst: Double
    private let perSecond: Double
    private let halfCapacity: Int
    private var younger: [Key: TokenBucket] = [:]
    private var older: [Key: TokenBucket] = [:]

    /// `capacity` is how many keys are remembered at most.
    package init(burst: Int, perSecond: Double, capacity: Int) {
        self.burst = Double(burst)
        self.perSecond = perSecond
        halfCapacity = max(1, capacity / 2)
    }

    package var count: Int { younger.count + older.count }

    /// Whole seconds until one more may pass after a refusal.
    package var pause: Int { max(1, Int((1 / perSecond).rounded(.up))) }

    /// Whether `count` more of `key` may pass at `now`, in milliseconds since 1970.
    package mutating func take(_ key: Key, _ count: Int = 1, now: Int64) -> Bool {
        var bucket =
            younger[key] ?? older.removeValue(forKey: key)
            ?? TokenBucket(capacity: burst, perSecond: perSecond, now: now)
        let passes = bucket.take(Double(count), at: now)
        if younger[key] == nil, younger.count >= halfCapacity {
            older = younger
            younger = [:]
        }
        younger[key] = bucket
        return passes
    }

    /// Returns the tokens of something of `key` that passed and then failed.
    package mutating func giveBack(_ key: Key, _ count: Int = 1) {
        younger[key]?.giveBack(Double(count))
        older[key]?.giveBack(Double(count))
    }
}

/// A token bucket for each of many keys, in bounded memory.
///
/// Two halves: what is found in the older one moves to the younger, and when that is full the older one is forgotten. Whoever is
/// forgotten has a full bucket again, which takes as many others as fit into one half.
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

    /// How long until one more passes that was refused, in whole seconds.
    package var pause: Int { max(1, Int((1 / perSecond).rounded(.up))) }

    /// Whether one more of `key`, or so many more, may pass at `now`, in milliseconds since 1970.
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

    /// One of `key` that passed, or so many, has come to nothing after all.
    package mutating func giveBack(_ key: Key, _ count: Int = 1) {
        younger[key]?.giveBack(Double(count))
        older[key]?.giveBack(Double(count))
    }
}

import Nostr

/// Judges how often and how late a partner may wake an account. Knows no registry and no clock.
struct HintDesk {
    struct Limits {
        /// How far a hint's date may be off, in seconds.
        var tolerance: Int64 = 600
        /// How many hints of one partner for one account wake at once,
        var burst: Int64 = 10
        /// and how many milliseconds lie between any further ones.
        var interval: Int64 = 30_000
        /// How many pairs of partner and account are counted at a time; each only until its burst is whole again.
        var pairs = 100_000
    }

    private struct Pair: Hashable {
        let partner: PublicKey
        let account: PublicKey
    }

    private let limits: Limits
    /// When the burst of each is whole again (the generic cell rate algorithm), in milliseconds since 1970.
    private var wholeAt: [Pair: Int64] = [:]

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether a hint dated `createdAt`, in seconds, is about what happens at `now`, in milliseconds since 1970.
    func isFresh(_ createdAt: Int64, at now: Int64) -> Bool {
        let (lowest, highest) = (now / 1000 - limits.tolerance, now / 1000 + limits.tolerance)
        return createdAt >= lowest && createdAt <= highest
    }

    /// Whether one more hint of `partner`, who was proven to be one, may wake `account`; counts it if so.
    mutating func admits(_ partner: PublicKey, for account: PublicKey, at now: Int64) -> Bool {
        let pair = Pair(partner: partner, account: account)
        let whole = limits.burst * limits.interval
        // A clock that was put back must not lock anybody out.
        var start = max(wholeAt[pair] ?? now, now)
        if start > now + whole { start = now }
        guard start + limits.interval <= now + whole else { return false }
        if wholeAt[pair] == nil, wholeAt.count >= limits.pairs {
            wholeAt = wholeAt.filter { $0.value > now && $0.value <= now + whole }
            guard wholeAt.count < limits.pairs else { return false }
        }
        wholeAt[pair] = start + limits.interval
        return true
    }
}

import PluginKit

/// When the latest events of each author passed to each recipient. Bounded; a pure machine.
struct BurstMemory {
    struct Pair: Hashable {
        let author: String
        let recipient: String
    }

    private struct Passed {
        var moments: [Int64]
        /// The one that passed last: the same is asked about again where several signals are made of it.
        var event: String
    }

    private let limit: BurstLimit
    private var pairs: RecentKeys<Pair, Passed>

    init(_ limit: BurstLimit, capacity: Int = 20_000) {
        self.limit = limit
        pairs = RecentKeys(capacity: capacity)
    }

    /// Whether another event passes at `now`, in milliseconds; one that does counts against those that follow.
    mutating func admits(_ event: String, of pair: Pair, at now: Int64) -> Bool {
        var passed = pairs.value(of: pair) ?? Passed(moments: [], event: "")
        if passed.event == event { return true }
        // What lies ahead was seen before the clock was set back.
        passed.moments.removeAll { $0 > now || now - $0 >= limit.span }
        guard passed.moments.count < limit.events else { return false }
        passed.moments.append(now)
        passed.event = event
        pairs.set(passed, for: pair)
        return true
    }
}

import RelayPool

/// How many accounts named each relay, without room for names that only one did: whoever registers can name many.
struct RelayCounts {
    private var counts: [RelayURL: Int] = [:]
    private var dropped = false
    private let room: Int

    /// Counts at most `room` relays at a time. Beyond that, those are dropped that were named least (Manku and Motwani, lossy
    /// counting); one that many name is counted nonetheless.
    init(room: Int) {
        self.room = max(1, room)
    }

    mutating func count(_ relay: RelayURL) {
        if counts[relay] == nil, counts.count >= room {
            counts = counts.compactMapValues { $0 > 1 ? $0 - 1 : nil }
            dropped = true
        }
        counts[relay, default: 0] += 1
    }

    /// Whether more relays than `limit` were named.
    func exceeds(_ limit: Int) -> Bool { dropped || counts.count > limit }

    /// The relays that most accounts named, of equals first those in `preferred`; of one host no more than `perHost`.
    func ranked(limit: Int, perHost: Int, preferring preferred: Set<RelayURL>) -> [RelayURL] {
        let ranked = counts.sorted { one, other in
            if one.value != other.value { return one.value > other.value }
            let (first, second) = (preferred.contains(one.key), preferred.contains(other.key))
            return first == second ? one.key < other.key : first
        }
        var hosts: [String: Int] = [:]
        let chosen = ranked.map(\.key).filter { relay in
            hosts[relay.host, default: 0] += 1
            return hosts[relay.host, default: 0] <= perHost
        }
        return Array(chosen.prefix(limit))
    }
}

import DequeModule

/// Bounds how many connections are being opened at the same time; who comes first is served first. A relay has one place at most
/// and waits once, however often it asks.
struct OpeningPlaces {
    private let limit: Int
    private var holders: Set<RelayURL> = []
    private var queue: Deque<RelayURL> = []
    private var waiting: Set<RelayURL> = []

    init(_ limit: Int) {
        self.limit = max(1, limit)
    }

    /// Takes a place for `relay`, or has it wait for one.
    mutating func take(_ relay: RelayURL) -> Bool {
        if holders.contains(relay) { return true }
        guard holders.count < limit else {
            if waiting.insert(relay).inserted { queue.append(relay) }
            return false
        }
        holders.insert(relay)
        return true
    }

    /// Gives the place of `relay` back, if it has one. Returns who has it now, if anybody waited.
    mutating func leave(_ relay: RelayURL) -> RelayURL? {
        guard holders.remove(relay) != nil, let next = queue.popFirst() else { return nil }
        waiting.remove(next)
        holders.insert(next)
        return next
    }
}

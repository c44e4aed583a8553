import Nostr

/// Answers a REQ from a handful of events (NIP-01).
enum StoredEvents {
    /// What any of `filters` matches: for each filter its newest up to its limit, together newest first, the lower id first
    /// where two are of the same second.
    static func select(from events: [Event], filters: [Filter]) -> [Event] {
        let sorted = events.sorted { ($1.createdAt, $0.id) < ($0.createdAt, $1.id) }
        var chosen: Set<EventID> = []
        for filter in filters {
            let matching = sorted.lazy.filter(filter.matches)
            chosen.formUnion(matching.prefix(filter.limit ?? sorted.count).map(\.id))
        }
        return sorted.filter { chosen.contains($0.id) }
    }
}

import Nostr
import Pipeline
import RelayPool

/// Asks the operator's relays for names and notes. No others: a stranger's event must not decide whom we ask what.
struct RelayContextFetcher: ContextFetcher {
    let pool: RelayPool
    /// In milliseconds.
    let patience: Int64

    func fetch(profiles: Set<PublicKey>, events: Set<EventID>, completion: @escaping @Sendable () -> Void) {
        var filters: [Filter] = []
        if !profiles.isEmpty { filters.append(Filter(authors: profiles, kinds: [.profile])) }
        if !events.isEmpty { filters.append(Filter(ids: events)) }
        pool.fetch(filters, within: patience, completion: completion)
    }
}

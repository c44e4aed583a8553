import Nostr
import Pipeline
import RelayPool

/// Asks the operator's relays for names, notes and contact lists. No others: a stranger's event must not decide whom we ask what.
struct RelayContextFetcher: ContextFetcher {
    let pool: RelayPool
    /// In milliseconds.
    let patience: Int64

    func fetch(_ wants: ContextWants, completion: @escaping @Sendable () -> Void) {
        var filters: [Filter] = []
        if !wants.profiles.isEmpty { filters.append(Filter(authors: wants.profiles, kinds: [.profile])) }
        if !wants.events.isEmpty { filters.append(Filter(ids: wants.events)) }
        if !wants.contactLists.isEmpty {
            filters.append(Filter(authors: wants.contactLists, kinds: [.contactList]))
        }
        pool.fetch(filters, within: patience, completion: completion)
    }
}

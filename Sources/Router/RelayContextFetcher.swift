import Core
import Nostr
import Pipeline
import Registry
import Relays
import Synchronization

/// Fetches names, notes, and accounts' own lists from the operator's relays. It asks no other relays about keys in a
/// stranger's event: a stranger must not choose who receives our requests. An account's own lists are also fetched from
/// its own relays, to which the router listens anyway.
struct RelayContextFetcher: ContextFetcher {
    /// Keys in one filter, and in one REQ: relays take messages of 128 KiB at least.
    private static let keysPerFilter = 500
    private static let filtersPerRequest = 2
    /// Profiles or events in one filter, and of both together in one REQ.
    private static let namesPerFilter = 250
    private static let namesPerRequest = 1_000
    /// Addresses in one REQ, each in a separate filter.
    private static let addressesPerRequest = 8
    /// Up to this many accounts have their own relays asked in one fetch.
    private static let accountsAtOnce = 32

    let relays: Relays
    let registry: Registry
    /// Whether accounts' own relays are asked too.
    let asksOwnRelays: Bool
    let timeout: Duration

    var isReachable: Bool { relays.isConnected(besidesOperators: asksOwnRelays) }

    func fetch(_ wants: ContextWants, completion: @escaping @Sendable (_ isAnswered: Bool) -> Void) {
        let requests = requests(wants)
        let join = FetchJoin(requests.count, completion: completion)
        for (filters, relays) in requests {
            self.relays.fetch(filters, from: relays, within: timeout) { join.end(isAnswered: $0) }
        }
    }

    /// The requests that fetch `wants`, each with its relays; no relays: the operator's.
    private func requests(_ wants: ContextWants) -> [(filters: [Filter], relays: [RelayURL])] {
        var filters: [Filter] = []
        for keys in Array(wants.profiles).chunks(of: Self.namesPerFilter) {
            filters.append(Filter(authors: Set(keys), kinds: [.profile]))
        }
        for ids in Array(wants.events).chunks(of: Self.namesPerFilter) { filters.append(Filter(ids: Set(ids))) }
        let lists = wants.lists.union(wants.contactLists.map { ListWant(account: $0, kind: .contactList) })
        for (kind, wants) in Dictionary(grouping: lists, by: \.kind) {
            filters.append(Filter(authors: Set(wants.map(\.account)), kinds: [kind]))
        }
        var requests: [(filters: [Filter], relays: [RelayURL])] =
            filters.chunks(of: Self.namesPerRequest / Self.namesPerFilter).map { (Array($0), []) }
        for addresses in Array(wants.addresses).chunks(of: Self.addressesPerRequest) {
            let filters = addresses.map { address in
                Filter(authors: [address.pubkey], kinds: [address.kind], tags: ["d": [address.identifier]], limit: 1)
            }
            requests.append((filters, []))
        }
        for want in wants.distances { requests += distance(want).map { ($0, []) } }
        guard asksOwnRelays else { return requests }
        for (account, wants) in Dictionary(grouping: lists, by: \.account).prefix(Self.accountsAtOnce) {
            let relays = ownRelays(of: account)
            guard !relays.isEmpty else { continue }
            requests.append(([Filter(authors: [account], kinds: Set(wants.map(\.kind)))], relays))
        }
        return requests
    }

    /// The filters, grouped by REQ, that find contact lists in which people followed by the account name the author.
    private func distance(_ want: DistanceWant) -> [[Filter]] {
        let list = try? registry.recipientList(.contactList, of: want.account)
        let filters = (list?.namedKeys ?? []).chunks(of: Self.keysPerFilter).map { keys in
            Filter(authors: Set(keys), kinds: [.contactList], tags: ["p": [want.author.hex]], limit: 1)
        }
        return filters.chunks(of: Self.filtersPerRequest).map { Array($0) }
    }

    /// The connected relays that an account itself names.
    private func ownRelays(of account: PublicKey) -> [RelayURL] {
        guard let watched = try? registry.watchedAccount(account) else { return [] }
        let texts = watched.relays + watched.readRelays + watched.messageRelays
        return relays.connected(among: texts.prefix(16).compactMap { RelayURL($0) })
    }
}

extension Array {
    /// In their order, `size` at a time.
    fileprivate func chunks(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}

/// Counts fetches in progress, and calls the completion once when all have ended.
package final class FetchJoin: Sendable {
    private let state: Mutex<(open: Int, isAnswered: Bool)>
    private let completion: @Sendable (_ isAnswered: Bool) -> Void

    /// With a `count` of 0 it completes immediately, as answered.
    package init(_ count: Int, completion: @escaping @Sendable (_ isAnswered: Bool) -> Void) {
        state = Mutex((count, count == 0))
        self.completion = completion
        if count == 0 { completion(true) }
    }

    package func end(isAnswered: Bool) {
        let result = state.withLock { state -> Bool? in
            state.open -= 1
            state.isAnswered = state.isAnswered || isAnswered
            return state.open == 0 ? state.isAnswered : nil
        }
        if let result { completion(result) }
    }
}

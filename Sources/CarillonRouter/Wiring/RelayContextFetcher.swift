import Nostr
import Pipeline
import Registry
import RelayPool
import Synchronization
import Units

/// Asks the operator's relays for names, notes, and accounts' own lists. No others for what a stranger's event names:
/// that must not decide who gets which questions. An account's own lists are asked for at its own relays too, where we
/// listen for it anyway.
struct RelayContextFetcher: ContextFetcher {
    /// Keys in one filter, and in one REQ: relays take messages of 128 KiB at least.
    private static let keysPerFilter = 500
    private static let filtersPerRequest = 2
    /// Profiles or events in one filter, and of both together in one REQ.
    private static let namesPerFilter = 250
    private static let namesPerRequest = 1_000
    /// Addresses in one REQ, each a filter of its own.
    private static let addressesPerRequest = 8
    /// Accounts whose own relays are asked in one go.
    private static let accountsAtOnce = 32

    let relays: any RelayFetching
    let registry: Registry
    /// Whether accounts are looked for at relays of their own.
    let asksOwnRelays: Bool
    let patience: Duration

    var isReachable: Bool { relays.isConnected(besidesOperators: asksOwnRelays) }

    func fetch(_ wants: ContextWants, completion: @escaping @Sendable (_ isAnswered: Bool) -> Void) {
        let requests = requests(wants)
        let join = FetchJoin(requests.count, completion: completion)
        for (filters, relays) in requests {
            self.relays.fetch(filters, from: relays, within: patience) { join.end(isAnswered: $0) }
        }
    }

    /// What is asked for together, and where; no relays: the operator's.
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

    /// Filters, some for each REQ, for contact lists of people the account follows that name the author.
    private func distance(_ want: DistanceWant) -> [[Filter]] {
        let list = try? registry.recipientList(.contactList, of: want.account)
        let filters = (list?.namedKeys ?? []).chunks(of: Self.keysPerFilter).map { keys in
            Filter(authors: Set(keys), kinds: [.contactList], tags: ["p": [want.author.hex]], limit: 1)
        }
        return filters.chunks(of: Self.filtersPerRequest).map { Array($0) }
    }

    /// Those at which an account is found by its own word, as far as we are connected to them.
    private func ownRelays(of account: PublicKey) -> [RelayURL] {
        guard let watched = try? registry.watchedAccount(account) else { return [] }
        let texts = watched.relays + watched.readRelays + watched.messageRelays
        return relays.connected(among: texts.prefix(16).compactMap { RelayURL($0) })
    }
}

/// Asks relays for stored events; the arguments are those of ``RelayPool``'s functions.
protocol RelayFetching: Sendable {
    func isConnected(besidesOperators: Bool) -> Bool
    func connected(among relays: [RelayURL]) -> [RelayURL]
    func fetch(
        _ filters: [Filter],
        from relays: [RelayURL],
        within time: Duration,
        completion: @escaping @Sendable (_ isAnswered: Bool) -> Void
    )
}

extension RelayPool: RelayFetching {}

extension Array {
    /// In their order, `size` at a time.
    fileprivate func chunks(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}

/// Waits for several fetches, and says once that all have ended.
final class FetchJoin: Sendable {
    private let state: Mutex<(open: Int, isAnswered: Bool)>
    private let completion: @Sendable (_ isAnswered: Bool) -> Void

    /// Of none, all have ended at once, and answered.
    init(_ count: Int, completion: @escaping @Sendable (_ isAnswered: Bool) -> Void) {
        state = Mutex((count, count == 0))
        self.completion = completion
        if count == 0 { completion(true) }
    }

    func end(isAnswered: Bool) {
        let result = state.withLock { state -> Bool? in
            state.open -= 1
            state.isAnswered = state.isAnswered || isAnswered
            return state.open == 0 ? state.isAnswered : nil
        }
        if let result { completion(result) }
    }
}

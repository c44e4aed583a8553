import DequeModule
import Logging
import NIOConcurrencyHelpers
import NIOCore

/// All relays of a pool, each on one event loop. Any thread reaches them through this.
final class RelayDirectory: Sendable {
    private struct Entry {
        let link: RelayLink
        var rank: RelayRank
        /// Calls that were sent to the link.
        var calls = 0
    }

    private struct State {
        var entries: [RelayURL: Entry] = [:]
        /// Relays that only users name.
        var usersCount = 0
        var places: OpeningPlaces
        var blocked = BlockedRelays()
        var isOver = false
        var hasComplained = false
        var operatorsLoops = SharedLoops(relays: 16)
    }

    private let environment: RelayEnvironment
    private let group: any EventLoopGroup
    private let configured: Set<RelayURL>
    private let maxRelays: Int
    private let state: NIOLockedValueBox<State>

    /// The `configured` relays are always the operator's.
    init(environment: RelayEnvironment, group: any EventLoopGroup, configured: Set<RelayURL>, maxRelays: Int) {
        self.environment = environment
        self.group = group
        self.configured = configured
        self.maxRelays = maxRelays
        state = NIOLockedValueBox(State(places: OpeningPlaces(environment.limits.opening)))
    }

    var links: [RelayLink] {
        state.withLockedValue { $0.entries.values.map(\.link) }
    }

    /// Whether `condition` holds for any of them. The operator's are few and come first.
    func contains(where condition: (RelayLink) -> Bool) -> Bool {
        state.withLockedValue { state in
            state.entries.values.contains { $0.rank.isOperators && condition($0.link) }
                || state.entries.values.contains { !$0.rank.isOperators && condition($0.link) }
        }
    }

    /// Relays that stay connected without any key.
    var kept: [RelayURL] {
        state.withLockedValue { $0.entries.values.filter(\.rank.isKept).map(\.link.url) }
    }

    /// Runs `call` at a relay on its event loop, in the order of calls, and adds the relay if it is unknown. Returns
    /// false after the end, or if there are too many relays.
    func send(to url: RelayURL, _ call: @escaping @Sendable (RelayConversation) -> Void) -> Bool {
        state.withLockedValue { state in
            guard var entry = entry(url, rank(of: url), &state) else { return false }
            entry.calls += 1
            state.entries[url] = entry
            // Inside the lock, to keep the order.
            let link = entry.link
            link.loop.execute { link.run(call) }
            return true
        }
    }

    /// The same, for a known relay only.
    func sendIfKnown(to url: RelayURL, _ call: @escaping @Sendable (RelayConversation) -> Void) {
        guard state.withLockedValue({ $0.entries[url] != nil }) else { return }
        _ = send(to: url, call)
    }

    /// Changes the rank of a relay. Returns false after the end, or if there are too many relays.
    @discardableResult
    func rank(_ url: RelayURL, _ change: (inout RelayRank) -> Void) -> Bool {
        state.withLockedValue { state in
            let rank = (state.entries[url]?.rank ?? rank(of: url)).changed(change)
            if state.entries[url]?.rank == rank { return true }
            guard var entry = entry(url, rank, &state) else { return false }
            state.usersCount += (rank.isOperators ? 0 : 1) - (entry.rank.isOperators ? 0 : 1)
            entry.rank = rank
            entry.calls += 1
            state.entries[url] = entry
            let link = entry.link
            link.loop.execute { link.set(rank) }
            return true
        }
    }

    /// Takes a place among the connections being opened, or waits for one.
    func takePlace(_ url: RelayURL) -> Bool {
        state.withLockedValue { $0.places.take(url) }
    }

    /// Gives the place of `url` back, if it has one.
    func leavePlace(_ url: RelayURL) {
        state.withLockedValue { state in
            var last = url
            while let next = state.places.leave(last) {
                last = next
                guard let link = state.entries[next]?.link else { continue }
                return link.loop.execute { link.placed() }
            }
        }
    }

    /// Forgets a relay that nobody needs, unless something was sent there since.
    func forget(_ url: RelayURL, callsRun: Int) {
        state.withLockedValue { state in
            guard let entry = state.entries[url], entry.calls == callsRun, !entry.rank.isKept else { return }
            state.entries[url] = nil
            if !entry.rank.isOperators { state.usersCount -= 1 }
        }
    }

    /// Forgets all relays that `isLeft` names, the operator's as well, and returns them.
    func forget(where isLeft: (RelayURL) -> Bool) -> [RelayLink] {
        state.withLockedValue { state in
            let known = state.entries.filter { isLeft($0.key) }
            for url in known.keys { state.entries[url] = nil }
            state.usersCount -= known.values.count { !$0.rank.isOperators }
            return known.values.map(\.link)
        }
    }

    /// Knows none of these relays from now on but the operator's. Returns those that it knew.
    func block(_ relays: BlockedRelays) -> [RelayLink] {
        state.withLockedValue { state in
            state.blocked = relays
            let known = state.entries.filter { !$0.value.rank.isOperators && relays.contains($0.key) }
            for url in known.keys { state.entries[url] = nil }
            state.usersCount -= known.count
            return known.values.map(\.link)
        }
    }

    /// Forgets all relays and accepts no further ones. Returns those that there were.
    func end() -> [RelayLink] {
        state.withLockedValue { state in
            state.isOver = true
            defer { state.entries = [:] }
            return state.entries.values.map(\.link)
        }
    }

    private func entry(_ url: RelayURL, _ rank: RelayRank, _ state: inout State) -> Entry? {
        guard !state.isOver else { return nil }
        if let entry = state.entries[url] { return entry }
        if !rank.isOperators {
            guard !state.blocked.contains(url) else { return nil }
            guard state.usersCount < maxRelays else {
                complain(&state)
                return nil
            }
        }
        let known = self.rank(of: url)
        if !known.isOperators { state.usersCount += 1 }
        let loop = known.isOperators ? state.operatorsLoops.next(from: group) : group.next()
        let link = RelayLink(url: url, loop: loop, rank: known, environment: environment, directory: self)
        return Entry(link: link, rank: known)
    }

    /// The rank of a new relay.
    private func rank(of url: RelayURL) -> RelayRank {
        RelayRank(isConfigured: configured.contains(url))
    }

    private func complain(_ state: inout State) {
        guard !state.hasComplained else { return }
        state.hasComplained = true
        environment.logger.warning("Users name more relays than are allowed", metadata: ["limit": "\(maxRelays)"])
    }
}

/// Who named a relay, and whether it stays connected without any key.
struct RelayRank: Sendable, Equatable {
    /// Named by ``RelayPool/Configuration-swift.struct/operators``.
    var isConfigured = false
    /// Asked for by ``RelayPool/keep(_:)``.
    var isKept = false
    /// Named as the operator's together with watched keys.
    var isNamed = false

    /// Whether the configuration names it, so that it may be at a private address.
    var isOperators: Bool { isConfigured || isKept || isNamed }

    func changed(_ change: (inout RelayRank) -> Void) -> RelayRank {
        var rank = self
        change(&rank)
        return rank
    }
}

/// Which threads the operator's relays live on: so many share one before the next thread gets some. They are the busy
/// relays, which a thread reads at the same moments, so that it wakes once for all of its own.
struct SharedLoops: Sendable {
    private let size: Int
    private var current: (loop: any EventLoop, room: Int)?

    init(relays: Int) {
        size = max(1, relays)
    }

    /// The thread of a further relay.
    mutating func next(from group: any EventLoopGroup) -> any EventLoop {
        let (loop, room) = current ?? (group.next(), size)
        current = room > 1 ? (loop, room - 1) : nil
        return loop
    }
}

/// Limits how many connections are being opened at the same time, first come, first served. A relay has at most one
/// place and waits once, however often it asks.
struct OpeningPlaces {
    private let limit: Int
    private var holders: Set<RelayURL> = []
    private var queue: Deque<RelayURL> = []
    private var waiting: Set<RelayURL> = []

    init(_ limit: Int) {
        self.limit = max(1, limit)
    }

    /// Takes a place for `relay`, or puts it in the queue.
    mutating func take(_ relay: RelayURL) -> Bool {
        if holders.contains(relay) { return true }
        guard holders.count < limit else {
            if waiting.insert(relay).inserted { queue.append(relay) }
            return false
        }
        holders.insert(relay)
        return true
    }

    /// Gives the place of `relay` back, if it has one. Returns the relay that gets it, if any waited.
    mutating func leave(_ relay: RelayURL) -> RelayURL? {
        guard holders.remove(relay) != nil, let next = queue.popFirst() else { return nil }
        waiting.remove(next)
        holders.insert(next)
        return next
    }
}

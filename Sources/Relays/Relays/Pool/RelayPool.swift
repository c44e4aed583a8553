import Core
import HTTPClient
import Logging
import NIOCore
import NIOPosix
import Nostr
import Synchronization

/// A pool of connections to relays, one connection for each relay regardless of the number of keys, each on one event
/// loop. Callable from any thread.
///
///     let pool = try RelayPool(configuration: .init(), identity: keys, group: group, http: lanes, delegate: …, …)
///     pool.update(relay, [.put(watched)], isOperators: false)
///     await pool.shutdown()  // before the group's
package final class RelayPool: Sendable {
    private struct Entry {
        let link: RelayLink
        var rank: RelayRank
        /// The number of calls sent to the link.
        var calls = 0
    }

    private struct State {
        var entries: [RelayURL: Entry] = [:]
        /// The number of relays that only users name.
        var usersCount = 0
        var places: OpeningPlaces
        var blocked = BlockedRelays()
        /// The settings for the next connections.
        var session: SessionSettings
        var isOver = false
        var hasComplained = false
        var operatorsLoops = SharedLoops(relays: 16)
    }

    /// The number of threads that resolve the names of users' relays.
    private static let resolvers = 8

    let configuration: Configuration
    let identity: KeyPair
    let connector: RelayConnector
    let http: any HTTPSender
    let delegate: any RelayPoolDelegate
    /// The behavior of all relays.
    package let behavior: RelayViolationTable
    let now: @Sendable () -> Timestamp
    let logger: Logger
    private let group: any EventLoopGroup
    private let threads: NIOThreadPool
    private let state: Mutex<State>

    /// Creates a pool without connections.
    ///
    /// `identity` answers challenges (NIP-42), and registrations addressed to it are read. `http` fetches information
    /// documents (NIP-11) and must outlive the pool, like `group`. Throws if the configured roots or address blocks
    /// cannot be used.
    package init(
        configuration: Configuration,
        identity: KeyPair,
        group: any EventLoopGroup,
        http: any HTTPSender,
        delegate: any RelayPoolDelegate,
        behavior: RelayViolationTable,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        self.configuration = configuration
        self.identity = identity
        self.group = group
        self.http = http
        self.delegate = delegate
        self.behavior = behavior
        self.now = now
        self.logger = logger
        threads = NIOThreadPool(numberOfThreads: Self.resolvers)
        connector = try RelayConnector(
            caFile: configuration.caFile,
            addressGuard: try AddressGuard(allowing: configuration.allowPrivate),
            limits: configuration.limits,
            threads: threads
        )
        var session = SessionSettings(ownKeys: [identity.publicKey] + configuration.formerKeys)
        session.addressedKinds = configuration.addressedKinds
        session.furtherLists = configuration.furtherLists
        session.catchUp = configuration.catchUp
        state = Mutex(State(places: OpeningPlaces(configuration.limits.opening), session: session))
        threads.start()
    }

    // MARK: Which relays

    /// Watches keys at `relay` and stops watching them. The pool disconnects from a relay without watched keys after a
    /// while, unless it is kept.
    ///
    /// `isOperators`: the configuration names the relay, so that it may be at a private address.
    package func update(_ relay: RelayURL, _ changes: [WatchChange], isOperators: Bool) {
        guard !changes.isEmpty else { return }
        let puts = changes.contains { if case .put = $0 { true } else { false } }
        if puts {
            guard rank(relay, { $0.isNamed = isOperators }) else { return }
        } else {
            guard state.withLock({ $0.entries[relay] != nil }) else { return }
        }
        _ = send(to: relay) { $0.update(changes) }
    }

    /// Stays connected to these configured relays, even if no key is watched there. Replaces the former list.
    package func keep(_ relays: [RelayURL]) {
        let kept = Set(relays)
        let former = state.withLock { $0.entries.filter(\.value.rank.isKept).map(\.key) }
        for relay in former where !kept.contains(relay) { rank(relay) { $0.isKept = false } }
        for relay in kept { rank(relay) { $0.isKept = true } }
    }

    /// Disconnects from these relays immediately and no longer connects to them, even if users name them; the
    /// operator's are excepted. Replaces the former list.
    package func block(_ relays: BlockedRelays) {
        let left = state.withLock { state in
            state.blocked = relays
            return Self.forget(&state) { !$1.isOperators && relays.contains($0) }
        }
        _ = stop(left, timeout: .zero)
    }

    /// Closes the connections to these relays with a handshake, and forgets the keys watched there. A relay that is
    /// named again gets a new connection. Calls `completion` once, on any thread and never before it returns, when all
    /// read events are settled, or after two seconds by default.
    package func leave(
        _ isLeft: @escaping @Sendable (RelayURL) -> Bool,
        then completion: @escaping @Sendable () -> Void
    ) {
        let left = state.withLock { Self.forget(&$0) { url, _ in isLeft(url) } }
        stop(left, timeout: configuration.limits.settling).whenComplete { _ in completion() }
    }

    /// Closes all connections and opens no new ones. Waits for unsettled events and closing handshakes: up to two
    /// seconds by default. Call it before the event loop group shuts down.
    package func shutdown() async {
        let left = state.withLock { state in
            state.isOver = true
            return Self.forget(&state) { _, _ in true }
        }
        // This cannot fail: links only fulfil their promises.
        try? await stop(left, timeout: configuration.limits.settling).get()
        // Look-ups may take long, and no other work depends on them.
        threads.shutdownGracefully { _ in }
    }

    private static func forget(_ state: inout State, where isLeft: (RelayURL, RelayRank) -> Bool) -> [RelayLink] {
        let left = state.entries.filter { isLeft($0.key, $0.value.rank) }
        for url in left.keys { state.entries[url] = nil }
        state.usersCount -= left.values.count { !$0.rank.isOperators }
        return left.values.map(\.link)
    }

    private func stop(_ links: [RelayLink], timeout: Duration) -> EventLoopFuture<Void> {
        let ends = links.map { link in
            let promise = link.loop.makePromise(of: Void.self)
            link.loop.execute {
                link.stop(timeout: timeout, promise)
                // A link that was being opened would keep its slot, because the pool no longer knows it.
                self.leavePlace(link.url)
            }
            return promise.futureResult
        }
        return EventLoopFuture.andAllComplete(ends, on: group.next())
    }

    // MARK: Requests

    /// Requests other kinds from all relays, over new connections, which continue reading where the previous ones
    /// stopped. Does nothing if the kinds are the same.
    package func ask(for kinds: RequestedKinds) {
        let links: [RelayLink] = state.withLock { state in
            guard state.session.requestedKinds != kinds else { return [] }
            state.session.requestedKinds = kinds
            return state.entries.values.map(\.link)
        }
        for link in links { link.loop.execute { link.ask(for: kinds) } }
    }

    /// Publishes `event` at each of `relays`, once connected and, if required, authenticated (NIP-42). Calls
    /// `completion` once, with a result for each relay, within ``ConnectionLimits/publishing``.
    package func publish(
        _ event: Event,
        to relays: [RelayURL],
        completion: (@Sendable ([RelayURL: PublishResult]) -> Void)? = nil
    ) {
        let completion = completion ?? { _ in }
        guard !relays.isEmpty else { return group.next().execute { completion([:]) } }
        let publication = PublishTally(event: event, relays: Set(relays), completion: completion)
        for relay in Set(relays) where !send(to: relay, { $0.publish(publication) }) {
            publication.add(.unanswered, from: relay)
        }
    }

    /// Requests stored events from `relays`, or from all connected relays of the operator if the list is empty. The
    /// delegate receives them as ``Reading/fetched``. Calls `completion` once, when the last was passed on or `time`
    /// has passed; `isAnswered`: any relay has sent all its events.
    ///
    /// A relay whose connection is being renewed counts as connected. Otherwise the first fetches after a reload would
    /// get no response.
    package func fetch(
        _ filters: [Filter],
        from relays: [RelayURL] = [],
        within time: Duration,
        completion: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        let asked = Set(relays.isEmpty ? status.filter { $0.isOperators && $0.isReachable }.map(\.url) : relays)
        guard !asked.isEmpty, !filters.isEmpty else { return group.next().execute { completion(filters.isEmpty) } }
        let fetch = FetchTally(filters: filters, relays: asked, time: time, completion: completion)
        for relay in asked where !send(to: relay, { $0.fetch(fetch) }) { fetch.end(relay) }
    }

    // MARK: Status

    /// The given relays that are currently connected.
    package func connected(among relays: [RelayURL]) -> [RelayURL] {
        let wanted = Set(relays)
        return status.filter { wanted.contains($0.url) && $0.state == .connected }.map(\.url)
    }

    /// Whether ``fetch(_:from:within:completion:)`` finds a relay: one of the operator's, or any.
    package func isConnected(besidesOperators: Bool) -> Bool {
        let isAskable = { (link: RelayLink) in
            let status = link.status
            return (besidesOperators || status.isOperators) && status.isReachable
        }
        return state.withLock { state in
            // The operator's relays are few and are checked first.
            state.entries.values.contains { $0.rank.isOperators && isAskable($0.link) }
                || state.entries.values.contains { !$0.rank.isOperators && isAskable($0.link) }
        }
    }

    /// The status of all known relays, sorted.
    package var status: [RelayStatus] {
        state.withLock { $0.entries.values.map(\.link) }.map(\.status).sorted { $0.url < $1.url }
    }

    // MARK: Links

    /// Runs `call` at a relay on its event loop, in the order of calls, and adds the relay if it is unknown. Returns
    /// false after the shutdown, or if there are too many relays.
    private func send(to url: RelayURL, _ call: @escaping @Sendable (RelayConversation) -> Void) -> Bool {
        state.withLock { state in
            guard var entry = entry(url, newRank(of: url), &state) else { return false }
            entry.calls += 1
            state.entries[url] = entry
            // Executed inside the lock to keep the order.
            let link = entry.link
            link.loop.execute { link.run(call) }
            return true
        }
    }

    /// Changes the rank of a relay. Returns false after the shutdown, or if there are too many relays.
    @discardableResult
    private func rank(_ url: RelayURL, _ change: (inout RelayRank) -> Void) -> Bool {
        state.withLock { state in
            var rank = state.entries[url]?.rank ?? newRank(of: url)
            change(&rank)
            if state.entries[url]?.rank == rank { return true }
            guard var entry = entry(url, rank, &state) else { return false }
            state.usersCount += (rank.isOperators ? 0 : 1) - (entry.rank.isOperators ? 0 : 1)
            entry.rank = rank
            entry.calls += 1
            state.entries[url] = entry
            let link = entry.link
            link.loop.execute { [rank] in link.set(rank) }
            return true
        }
    }

    private func entry(_ url: RelayURL, _ rank: RelayRank, _ state: inout State) -> Entry? {
        guard !state.isOver else { return nil }
        if let entry = state.entries[url] { return entry }
        if !rank.isOperators {
            guard !state.blocked.contains(url) else { return nil }
            guard state.usersCount < configuration.maxRelays else {
                complain(&state)
                return nil
            }
        }
        let known = newRank(of: url)
        if !known.isOperators { state.usersCount += 1 }
        let loop = known.isOperators ? state.operatorsLoops.next(from: group) : group.next()
        return Entry(
            link: RelayLink(url: url, loop: loop, rank: known, session: state.session, pool: self),
            rank: known
        )
    }

    private func newRank(of url: RelayURL) -> RelayRank {
        RelayRank(isConfigured: configuration.operators.contains(url))
    }

    private func complain(_ state: inout State) {
        guard !state.hasComplained else { return }
        state.hasComplained = true
        logger.warning("Users named more relays than the limit", metadata: ["limit": "\(configuration.maxRelays)"])
    }

    /// Takes a slot among the connections being opened, or queues for one.
    func takePlace(_ url: RelayURL) -> Bool {
        state.withLock { $0.places.take(url) }
    }

    /// Releases the slot of `url`, if it has one.
    func leavePlace(_ url: RelayURL) {
        state.withLock { state in
            var last = url
            while let next = state.places.leave(last) {
                last = next
                guard let link = state.entries[next]?.link else { continue }
                return link.loop.execute { link.placed() }
            }
        }
    }

    /// Forgets a relay that is no longer needed, unless a call was sent there since.
    func forget(_ url: RelayURL, callsRun: Int) {
        state.withLock { state in
            guard let entry = state.entries[url], entry.calls == callsRun, !entry.rank.isKept else { return }
            state.entries[url] = nil
            if !entry.rank.isOperators { state.usersCount -= 1 }
        }
    }
}

/// The origin of a relay, and whether it stays connected without any key.
struct RelayRank: Sendable, Equatable {
    /// Named by ``RelayPool/Configuration-swift.struct/operators``.
    var isConfigured = false
    /// Requested by ``RelayPool/keep(_:)``.
    var isKept = false
    /// Passed as the operator's together with watched keys.
    var isNamed = false

    /// Whether the configuration names it, so that it may be at a private address.
    var isOperators: Bool { isConfigured || isKept || isNamed }
}

/// Assigns the operator's relays to event loops: a fixed number shares one loop before the next one is used. These
/// relays are busy and share read times, so that a thread wakes once for all of its relays.
struct SharedLoops: Sendable {
    private let size: Int
    private var current: (loop: any EventLoop, room: Int)?

    init(relays: Int) {
        size = max(1, relays)
    }

    /// Returns the loop for another relay.
    mutating func next(from group: any EventLoopGroup) -> any EventLoop {
        let (loop, room) = current ?? (group.next(), size)
        current = room > 1 ? (loop, room - 1) : nil
        return loop
    }
}

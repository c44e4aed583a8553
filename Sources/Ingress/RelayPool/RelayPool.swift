import HTTPLanes
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Nostr
import Units

/// Connections to relays, one a relay however many keys are watched there.
///
///     let pool = try RelayPool(configuration: .init(), identity: keys, group: group, http: lanes, delegate: …, …)
///     pool.update(relay, [.put(watched)], isOperators: false)
///     await pool.shutdown()  // before the group's
package final class RelayPool: Sendable {
    /// Threads that look up the names of users' relays.
    private static let resolvers = 8
    private let directory: RelayDirectory
    /// How relays behave.
    package let conduct: RelayConductBook
    private let kinds: NIOLockedValueBox<RequestedKinds>
    private let group: any EventLoopGroup
    private let threads: NIOThreadPool
    /// How long a shutdown waits for what was handed over.
    private let patience: Duration

    /// Connects to nothing yet.
    ///
    /// `identity` answers challenges (NIP-42); registrations are read for it and for `formerKeys`. `http` fetches
    /// information documents (NIP-11) and must outlive the pool, as must `group`. `mark` returns, in seconds since
    /// 1970, up to when everything that a relay had was dealt with before; it is called on event loops and must not
    /// block. `conduct` is where relays' behaviour is noted; nil: in a book of the pool's own. `screening`
    /// makes, for each relay, what looks at live events before they are handed over. `jitter` is from 0 to 1.
    /// Throws if the roots or a block of addresses of the configuration cannot be used.
    package init(
        configuration: Configuration,
        identity: KeyPair,
        formerKeys: [PublicKey] = [],
        group: any EventLoopGroup,
        http: any HTTPSender,
        delegate: any RelayPoolDelegate,
        conduct: RelayConductBook? = nil,
        screening: @escaping @Sendable () -> (any EventScreening)? = { nil },
        mark: @escaping @Sendable (RelayURL) -> Int64?,
        now: @escaping @Sendable () -> Timestamp,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) },
        logger: Logger
    ) throws {
        self.group = group
        patience = configuration.limits.settling
        let addressGuard = try AddressGuard(allowing: configuration.allowPrivate)
        threads = NIOThreadPool(numberOfThreads: Self.resolvers)
        let connector = try RelayConnector(
            caFile: configuration.caFile,
            addressGuard: addressGuard,
            limits: configuration.limits,
            threads: threads
        )
        var session = SessionSettings(ownKeys: [identity.publicKey] + formerKeys)
        session.addressedKinds = configuration.addressedKinds
        session.furtherLists = configuration.furtherLists
        session.catchUp = configuration.catchUp
        kinds = NIOLockedValueBox(session.requestedKinds)
        let conduct = conduct ?? RelayConductBook(operators: configuration.operators, now: now, logger: logger)
        self.conduct = conduct
        let environment = RelayEnvironment(
            limits: configuration.limits,
            pauses: configuration.pauses,
            session: session,
            kinds: kinds,
            identity: identity,
            connector: connector,
            http: http,
            delegate: delegate,
            conduct: conduct,
            screening: screening,
            mark: mark,
            now: now,
            jitter: jitter,
            logger: logger
        )
        directory = RelayDirectory(
            environment: environment,
            group: group,
            configured: configuration.operators,
            maxRelays: configuration.maxRelays
        )
        threads.start()
    }

    /// Watches keys at `relay` and stops watching them. A relay at which no key is watched is left after a while,
    /// unless it is kept.
    ///
    /// `isOperators` says that the configuration names the relay, so that it may be at a private address.
    package func update(_ relay: RelayURL, _ changes: [WatchChange], isOperators: Bool) {
        guard !changes.isEmpty else { return }
        let puts = changes.contains { change in
            guard case .put = change else { return false }
            return true
        }
        guard puts else { return directory.sendIfKnown(to: relay) { $0.update(changes) } }
        guard directory.rank(relay, { $0.isNamed = isOperators }) else { return }
        _ = directory.send(to: relay) { $0.update(changes) }
    }

    /// Stays connected to these relays, which the configuration names, even if no key is watched there. Replaces the
    /// former list.
    package func keep(_ relays: [RelayURL]) {
        let kept = Set(relays)
        for relay in directory.kept where !kept.contains(relay) { directory.rank(relay) { $0.isKept = false } }
        for relay in kept { directory.rank(relay) { $0.isKept = true } }
    }

    /// Leaves these relays at once and connects to none of them from now on, whoever names them; the operator's are
    /// excepted. Replaces the former list.
    package func block(_ relays: BlockedRelays) {
        for link in directory.block(relays) {
            let promise = link.loop.makePromise(of: Void.self)
            link.loop.execute { [directory] in
                link.stop(patience: .zero, promise)
                // One that was being opened would keep its place, for nobody knows it any more.
                directory.leavePlace(link.url)
            }
        }
    }

    /// Closes the connections to these relays in order, and forgets what is watched there. Whoever names one of them
    /// again finds a new connection. Calls `completion` once, on any thread and never before it returns, when what was
    /// read is dealt with, or after two seconds by default.
    package func leave(
        _ isLeft: @escaping @Sendable (RelayURL) -> Bool,
        then completion: @escaping @Sendable () -> Void
    ) {
        EventLoopFuture.andAllComplete(stop(directory.forget(where: isLeft)), on: group.next())
            .whenComplete { _ in completion() }
    }

    private func stop(_ links: [RelayLink]) -> [EventLoopFuture<Void>] {
        links.map { link in
            let promise = link.loop.makePromise(of: Void.self)
            link.loop.execute { [patience, directory] in
                link.stop(patience: patience, promise)
                // One that was being opened would keep its place, for nobody knows it any more.
                directory.leavePlace(link.url)
            }
            return promise.futureResult
        }
    }

    /// Asks all relays for other kinds from now on, over new connections, which continue reading where those before
    /// stopped. Does nothing if the kinds are the same.
    package func ask(for kinds: RequestedKinds) {
        let isNew = self.kinds.withLockedValue { old in
            defer { old = kinds }
            return old != kinds
        }
        guard isNew else { return }
        for link in directory.links { link.loop.execute { link.ask(for: kinds) } }
    }

    /// Publishes `event` at each of `relays`, once connected and, where asked, authenticated (NIP-42). Calls
    /// `completion` once, with a result for each relay, within ``ConnectionLimits/publishing``.
    package func publish(
        _ event: Event,
        to relays: [RelayURL],
        completion: (@Sendable ([RelayURL: PublishResult]) -> Void)? = nil
    ) {
        let completion = completion ?? { _ in }
        guard !relays.isEmpty else { return group.next().execute { completion([:]) } }
        let publication = PublishTally(event: event, relays: Set(relays), completion: completion)
        for relay in Set(relays) where !directory.send(to: relay, { $0.publish(publication) }) {
            publication.add(.unanswered, from: relay)
        }
    }

    /// Asks `relays`, or all connected ones of the operator's if the list is empty, for stored events. The delegate
    /// gets them as ``Reading/fetched``. Calls `completion` once, when the last was handed over or `time` has
    /// passed; `isAnswered` says whether any relay has sent everything that it has.
    ///
    /// A relay whose connection is being renewed counts as connected: otherwise what a reload adds to the questions
    /// would find nobody to answer the first of them.
    package func fetch(
        _ filters: [Filter],
        from relays: [RelayURL] = [],
        within time: Duration,
        completion: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        let asked = Set(relays.isEmpty ? connectedOperators : relays)
        guard !asked.isEmpty, !filters.isEmpty else { return group.next().execute { completion(filters.isEmpty) } }
        let fetch = FetchTally(filters: filters, relays: asked, time: time, completion: completion)
        for relay in asked where !directory.send(to: relay, { $0.fetch(fetch) }) { fetch.end(relay) }
    }

    /// Those of `relays` that we are connected to at this moment.
    package func connected(among relays: [RelayURL]) -> [RelayURL] {
        let wanted = Set(relays)
        return directory.links.map(\.status).filter { wanted.contains($0.url) && $0.state == .connected }.map(\.url)
    }

    /// Whether ``fetch(_:from:within:completion:)`` finds a relay to ask: one of the operator's, or any.
    package func isConnected(besidesOperators: Bool) -> Bool {
        directory.contains { link in
            let status = link.status
            return (besidesOperators || status.isOperators) && status.isReachable
        }
    }

    /// All relays that are known at this moment, sorted.
    package var status: [RelayStatus] {
        directory.links.map(\.status).sorted { $0.url < $1.url }
    }

    /// Closes all connections and opens no further ones. Waits for unsettled events and for closing handshakes: two
    /// seconds by default. Call it before the event loop group shuts down.
    package func shutdown() async {
        // Does not fail: links only fulfil their promises.
        try? await EventLoopFuture.andAllComplete(stop(directory.end()), on: group.next()).get()
        // Look-ups may take long; nobody waits for them.
        threads.shutdownGracefully { _ in }
    }

    private var connectedOperators: [RelayURL] {
        directory.links.map(\.status).filter { $0.isOperators && $0.isReachable }.map(\.url)
    }
}

extension RelayPool {
    /// How a pool connects and what it asks for.
    package struct Configuration: Sendable {
        /// Kinds that are asked for by the keys they name. Default: nil, every kind.
        package var addressedKinds: Set<Kind>?
        /// Further replaceable kinds that are asked for by author, such as contact lists (kind 3). Default: none.
        package var furtherLists: Set<Kind> = []
        /// How far back is read after an absence. Default: two days.
        package var catchUp: Duration = .days(2)
        /// A PEM file with roots to trust besides the system's. Default: none.
        package var caFile: String?
        /// Blocks in CIDR notation that users' URLs may lead to although they are not public, such as `10.1.2.0/24`.
        /// Default: none.
        package var allowPrivate: [String] = []
        /// Relays that may have private addresses and are retried forever, even if users name them. Default: only those
        /// that are kept.
        package var operators: Set<RelayURL> = []
        /// The most relays of users that the pool connects to; further ones are left out. Default: 10,000.
        package var maxRelays = 10_000
        package var limits = ConnectionLimits()
        package var pauses = ConnectionPauses()

        package init() {}
    }
}

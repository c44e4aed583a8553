import Core
import Delivery
import Glibc
import HTTPClient
import Logging
import Nostr
import Operations
import Pipeline
import Registry
import Relays
import RouterConfiguration
import Rules
import Synchronization

/// The router's client side of relays: reads for all registered accounts, and publishes.
package struct Relays: RouterPart {
    package let watch: AccountWatch
    package let pool: RelayPool
    /// One for each of the router's keys, its current key first.
    let advertising: [Advertising]
    package let operators: [RelayURL]
    /// Nil: this router reads all relays.
    private let shared: (any SharedRelays)?
    private let known = KnownBlocks()
    private let survey: FirstSurvey

    /// Calls the router's stop signal if accounts cannot be watched.
    init(
        _ environment: RouterEnvironment,
        _ settings: ActiveSettings,
        _ registry: Registry,
        _ listeners: RegistryListeners,
        _ entrance: Entrance,
        _ outgoing: Outgoing
    ) throws {
        let (configuration, now, logger) = (environment.configuration, environment.now, environment.logger)
        survey = FirstSurvey(failed: environment.stop.fail)
        let shared = environment.membership?.relays
        var watching = configuration.accountWatch
        watching.sharing = shared?.sharing
        watching.maxRelays = min(watching.maxRelays, OpenFiles.relays(within: OpenFiles.raiseLimit()))
        watch = try AccountWatch(registry: registry, configuration: watching, now: now, logger: logger)
        listeners.follow(watch)
        var pools = configuration.relayPool(for: settings.rules, lists: settings.filters.lists)
        pools.formerKeys = registry.keys.former.map { [$0.publicKey] } ?? []
        let behavior = RelayViolationTable(operators: pools.operators, now: now, logger: logger)
        pool = try RelayPool(
            configuration: pools,
            identity: registry.keys.current,
            group: outgoing.group,
            http: outgoing.lanes,
            delegate: RelayReception(
                intake: entrance.intake,
                watch: watch,
                counts: entrance.counts,
                behavior: behavior,
                screen: entrance.screen,
                shared: shared
            ),
            behavior: behavior,
            now: now,
            logger: logger
        )
        let keys = registry.keys
        advertising = keys.answering.map { [pool] identity in
            Advertising(
                identity: identity,
                succession: keys.names.succession(of: identity.publicKey),
                relays: configuration.relays.publish,
                publish: pool.publish,
                alarm: DispatchAlarm(now: now),
                now: now,
                logger: logger
            )
        }
        operators = Array(Set(configuration.relays.always + configuration.relays.nip46))
        self.shared = shared
        for advertising in advertising { advertising.limit(to: isHere) }
        shared?.serve(self)
    }

    /// Whether this router is the one that holds a relay.
    var isHere: @Sendable (RelayURL) -> Bool {
        guard let shared else { return { _ in true } }
        return { [weak shared] in shared?.isHere($0) ?? false }
    }

    /// Updates the connections after the partitions of this router changed.
    package func hold() {
        pool.keep(operators.filter(isHere))
        for advertising in advertising { advertising.limit(to: isHere) }
    }

    /// Disconnects users' relays that these rules block, and does not connect to them again.
    func follow(_ access: AccessList) {
        let patterns = access.rules.compactMap { rule -> RelayPattern? in
            guard rule.isBlock, case .relay(let text) = rule.subject else { return nil }
            return RelayPattern(text)
        }
        let blocked = BlockedRelays(patterns)
        guard known.replace(by: blocked) else { return }
        pool.block(blocked)
        watch.block(blocked)
    }

    /// Whether ``fetch(_:from:within:completion:)`` finds a relay: one of the operator's, or any. Relays of other
    /// members count as connected: a request soon shows if they are not.
    func isConnected(besidesOperators: Bool) -> Bool {
        pool.isConnected(besidesOperators: besidesOperators) || !operators.allSatisfy(isHere)
    }

    /// The given relays that are connected, or that other members read.
    func connected(among relays: [RelayURL]) -> [RelayURL] {
        pool.connected(among: relays.filter(isHere)) + relays.filter { !isHere($0) }
    }

    /// Asks relays for stored events like ``RelayPool``, through the members that read them.
    func fetch(
        _ filters: [Filter],
        from relays: [RelayURL],
        within time: Duration,
        completion: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        if let shared {
            shared.fetch(filters, from: relays, within: time, completion: completion)
        } else {
            pool.fetch(filters, from: relays, within: time, completion: completion)
        }
    }

    /// Connects to the operator's relays, and starts to connect to the relays of all registered accounts.
    package func start() {
        if shared == nil { pool.keep(operators) }
        survey.begin { [watch, pool] in try watch.start(at: pool) }
    }

    package func stop(_ time: StopBudget) async {
        await survey.end()
        for advertising in advertising { advertising.stop() }
        await pool.shutdown()
        watch.shutdown()
        shared?.serve(nil)
    }
}

/// Loads the registered accounts for the first time. With a million accounts it takes seconds, and events from other
/// sources do not wait for it. A database read cannot be cancelled, so stopping waits for its end.
final class FirstSurvey: Sendable {
    private let failed: @Sendable (any Error) -> Void
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(failed: @escaping @Sendable (any Error) -> Void) { self.failed = failed }

    /// Runs `body`, which may block.
    func begin(_ body: @escaping @Sendable () throws -> Void) {
        let look = Task { [failed] in
            await onDisk {
                do {
                    try body()
                } catch {
                    failed(error)
                }
            }
        }
        task.withLock { $0 = look }
    }

    /// Returns when the load has ended.
    func end() async { await task.withLock(\.self)?.value }
}

/// The last set of blocked relays: most changes of access rules do not change it.
private final class KnownBlocks: Sendable {
    private let relays = Mutex(BlockedRelays())

    /// Replaces the set. Returns whether it changed.
    func replace(by new: BlockedRelays) -> Bool {
        relays.withLock { relays in
            defer { relays = new }
            return relays != new
        }
    }
}

/// The limit on open files and sockets of this process; each connection takes one.
enum OpenFiles {
    /// Descriptors for other uses: databases, our own socket, push services, information documents, plugins.
    private static let others = 4_096

    /// Raises the limit to the system's maximum; many start with 1,024 for the sake of `select`, which the router does
    /// not use. Returns the limit.
    static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return others }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = raised.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// The maximum of concurrent connections to users' relays, so that enough descriptors are left for everything else.
    static func relays(within limit: Int) -> Int {
        max(limit / 2, limit - others)
    }
}

/// Passes relays' events to the pipeline, and the read positions to the part that schedules the next requests.
struct RelayReception: RelayPoolDelegate {
    let intake: Intake
    let watch: AccountWatch
    let counts: RouterCounts
    let behavior: RelayViolationTable
    let screen: EventScreen
    let shared: (any SharedRelays)?

    func received(
        _ events: [[UInt8]],
        from relay: RelayURL,
        _ reading: Reading,
        completion: @escaping @Sendable ([Bool]) -> Void
    ) {
        if case .fetched = reading { shared?.found(events) }
        intake.submit(
            Submission(events: events, source: .relay(reading.relayReading)) { [behavior] decisions in
                behavior.note(.invalidEvents, decisions.count(where: \.result.isViolation), by: relay)
                completion(decisions.map(\.result.isFinal))
            }
        )
    }

    func established(_ keys: [PublicKey], at relay: RelayURL) {
        watch.established(keys, at: relay)
    }

    func marked(_ relay: RelayURL, upTo moment: Int64) {
        watch.marked(relay, upTo: moment)
    }

    func couldNotRead(_ times: Int, at relay: RelayURL) {
        counts.couldNotRead(times)
    }

    func mark(of relay: RelayURL) -> Int64? { watch.mark(of: relay) }

    func prefilter() -> (any EventPrefilter)? { screen.prefilter(of: .relay(.live)) }
}

extension EventDecision.Result {
    /// Whether the relay should have rejected the event: its id or signature is wrong, or it is not an event.
    fileprivate var isViolation: Bool {
        guard case .refused(let message) = self else { return false }
        return MachineReadablePrefix(of: message) == .invalid
    }
}

extension Reading {
    fileprivate var relayReading: RelayReading {
        switch self {
        case .live: .live
        case .stored: .stored
        case .baseline: .baseline
        case .fetched: .fetched
        }
    }
}

extension Configuration {
    /// The settings of the account watch, which decides which accounts are read on which relays.
    fileprivate var accountWatch: AccountWatch.Configuration {
        var watch = AccountWatch.Configuration()
        watch.always = relays.always
        watch.perUser = relays.perUser
        watch.hints = hints.policy
        watch.silentAfter = hints.silentAfter
        return watch
    }

    /// Returns how to connect to relays, and the kinds that `rules` and filters need; filters read `lists` of accounts.
    func relayPool(for rules: RuleBook, lists: Set<Kind> = []) -> RelayPool.Configuration {
        var pool = RelayPool.Configuration()
        let wishes = relayWishes(of: rules, lists: lists)
        pool.addressedKinds = wishes.addressedKinds
        pool.furtherLists = wishes.furtherLists
        pool.catchUp = relays.catchUp
        pool.caFile = http.caFile
        pool.allowPrivate = http.allowPrivate
        pool.operators = Set(relays.always + relays.nip46 + relays.publish)
        // Account watch has the same limit and decides first. Relays in backoff after failures stay known for a while.
        pool.maxRelays = 2 * accountWatch.maxRelays
        return pool
    }

    /// Returns the kinds to request from relays for `rules`, and for filters, which read `lists` of accounts.
    func relayWishes(of rules: RuleBook, lists: Set<Kind>) -> RequestedKinds {
        var wishes = RequestedKinds(furtherLists: rules.asksForFollows ? lists.union([.contactList]) : lists)
        if let kinds = rules.notifiableKinds {
            wishes.addressedKinds = Set(kinds.map { Kind($0) })
            if hints.policy != .ignore { wishes.addressedKinds?.insert(.wakeUpHint) }
        }
        return wishes
    }
}

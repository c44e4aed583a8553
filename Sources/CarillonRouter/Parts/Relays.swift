import AccountWatch
import Delivery
import Glibc
import HTTPLanes
import Logging
import Nostr
import Operations
import Pipeline
import Registry
import RelayPool
import RouterConfiguration
import Rules
import Synchronization
import Units

/// Other people's relays: what is read there for everybody registered, and what is published there.
struct Relays: RouterPart {
    let watch: AccountWatch
    let pool: RelayPool
    /// One for each key that we answer to, our own first.
    let advertising: [Advertising]
    let operators: [RelayURL]
    /// Nil: this router reads all relays.
    private let shared: ClusterRelays?
    private let known = KnownBlocks()
    private let survey: FirstSurvey

    /// `stop` is sent where nobody can be watched.
    init(
        _ configuration: Configuration,
        settings: ActiveSettings,
        registry: Registry,
        changes: AccountChanges,
        intake: Intake,
        counts: RouterCounts,
        screen: EventScreen,
        membership: ClusterMembership?,
        outgoing: Outgoing,
        stop: StopSignal,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        survey = FirstSurvey(failed: stop.fail)
        let shared = membership?.relays
        var watching = configuration.accountWatch
        watching.sharing = shared?.sharing
        watching.maxRelays = min(watching.maxRelays, OpenFiles.relays(within: OpenFiles.raiseLimit()))
        watch = try AccountWatch(registry: registry, configuration: watching, now: now, logger: logger)
        changes.tell(watch)
        let pools = configuration.relayPool(for: settings.rules, lists: settings.filters.lists)
        let conduct = RelayConductBook(operators: pools.operators, now: now, logger: logger)
        pool = try RelayPool(
            configuration: pools,
            identity: registry.keys.current,
            formerKeys: registry.keys.former.map { [$0.publicKey] } ?? [],
            group: outgoing.group,
            http: outgoing.lanes,
            delegate: RelayReception(
                intake: intake,
                watch: watch,
                counts: counts,
                conduct: conduct,
                membership: membership
            ),
            conduct: conduct,
            screening: { screen.screening(of: .relay(.live)) },
            mark: watch.mark,
            now: now,
            logger: logger
        )
        let keys = registry.keys
        advertising = keys.answering.map { [pool] identity in
            Advertising(
                identity: identity,
                succession: keys.names.succession(of: identity.publicKey),
                relays: configuration.relays.publish,
                publisher: pool,
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

    /// Asks for stored events wherever a relay is held.
    var fetching: any RelayFetching { shared ?? pool }

    /// What this router holds has changed.
    func hold() {
        pool.keep(operators.filter(isHere))
        for advertising in advertising { advertising.limit(to: isHere) }
    }

    /// Leaves relays of users that these rules block, and connects to none of them from now on.
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

    /// Connects to the operator's relays, and begins to connect to those of everybody registered.
    func start() {
        if shared == nil { pool.keep(operators) }
        survey.begin { [watch, pool] in try watch.start(at: pool) }
    }

    func stop(_ time: StopBudget) async {
        await survey.end()
        for advertising in advertising { advertising.stop() }
        await pool.shutdown()
        watch.shutdown()
        shared?.serve(nil)
    }
}

/// The first look at who is registered. It takes seconds with a million accounts, and what comes in elsewhere does not
/// wait for it. Nothing cancels it, since reading a database goes to its end; whoever stops waits for that.
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

    /// Returns when nothing of it is under way.
    func end() async { await task.withLock(\.self)?.value }
}

/// The blocked relays as they were told last: most changes of access are about users.
private final class KnownBlocks: Sendable {
    private let relays = Mutex(BlockedRelays())

    /// Returns whether these are others.
    func replace(by new: BlockedRelays) -> Bool {
        relays.withLock { relays in
            defer { relays = new }
            return relays != new
        }
    }
}

/// Tells the account watch what changes in the registry, which is made before it.
final class AccountChanges: Sendable {
    private struct Receiver {
        weak var watch: AccountWatch?
    }

    private let receiver = Mutex(Receiver())

    /// Changes go to `watch` from now on. It reads everything at its start, so those before do not matter.
    func tell(_ watch: AccountWatch) {
        receiver.withLock { $0.watch = watch }
    }

    @Sendable func changed(_ keys: Set<PublicKey>) {
        receiver.withLock { $0.watch }?.changed(keys)
    }
}

/// How many files and sockets this process may have open; each connection takes one.
enum OpenFiles {
    /// For what is not a user's relay: databases, our own socket, push services, information documents, plugins.
    private static let others = 4_096

    /// Raises the limit as far as the system lets us; many begin with 1,024 for the sake of `select`, which nobody here
    /// uses. Returns the limit.
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

    /// How many relays of users' choice may be connected to at a time, so that enough is left for everything else.
    static func relays(within limit: Int) -> Int {
        max(limit / 2, limit - others)
    }
}

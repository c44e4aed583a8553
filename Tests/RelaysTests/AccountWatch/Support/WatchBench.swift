import Core
import Logging
import Nostr
import Synchronization
import Testing
import TimeTestSupport

@testable import Registry
@testable import Relays

/// An account watch on a temporary file, with a manual clock.
final class WatchBench {
    /// 2026-03-14, in seconds.
    static let start: Int64 = 1_773_446_400

    let folder: TemporaryFolder
    let time = ManualTime(Timestamp(seconds: start))
    let accounts = FakeAccounts()
    private(set) var relays = FakeRelays()
    private(set) var registry: Registry
    private(set) var watch: AccountWatch
    var configuration: AccountWatch.Configuration

    init(always: [String] = [], change: (inout AccountWatch.Configuration) -> Void = { _ in }) throws {
        folder = try TemporaryFolder()
        configuration = AccountWatch.Configuration()
        configuration.always = always.compactMap { RelayURL($0) }
        change(&configuration)
        registry = try WatchBench.open(folder, time)
        watch = try WatchBench.watch(registry, accounts, configuration, time)
    }

    /// Stops and starts again, without a clean shutdown if `properly` is false.
    func restart(properly: Bool = true) throws {
        if properly { watch.shutdown() }
        relays = FakeRelays()
        registry = try WatchBench.open(folder, time)
        watch = try WatchBench.watch(registry, accounts, configuration, time)
        try watch.start(at: relays)
    }

    func begin() throws { try watch.start(at: relays) }

    /// Registers or changes an account, and processes that.
    func put(_ account: WatchedAccount) {
        accounts[account.key] = account
        watch.changed([account.key])
        time.pass(.milliseconds(200))
    }

    func remove(_ key: PublicKey) {
        accounts[key] = nil
        watch.changed([key])
        time.pass(.milliseconds(200))
    }

    func relay(_ text: String) throws -> RelayURL { try #require(RelayURL(text)) }

    private static func open(_ folder: TemporaryFolder, _ time: ManualTime) throws -> Registry {
        try Registry(
            store: RegistryStore(path: folder.file("carillon.sqlite")),
            identity: KeyPair(secret: SecretKey(bytes: Array(repeating: 0x11, count: 32))),
            now: { time.now },
            check: { _ in }
        )
    }

    private static func watch(
        _ registry: Registry,
        _ accounts: FakeAccounts,
        _ configuration: AccountWatch.Configuration,
        _ time: ManualTime
    ) throws -> AccountWatch {
        try AccountWatch(
            registry: registry,
            accounts: accounts,
            configuration: configuration,
            now: { time.now },
            schedule: time.schedule,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        )
    }
}

/// A manual clock, and the work scheduled on it.
final class ManualTime: Sendable {
    private let clock: ManualClock
    private let due = Mutex<[(time: Timestamp, action: @Sendable () -> Void)]>([])

    init(_ now: Timestamp) {
        clock = ManualClock(now)
    }

    var now: Timestamp { clock.time }

    func schedule(_ span: Duration, _ action: @escaping @Sendable () -> Void) {
        due.withLock { $0.append((now + span, action)) }
    }

    /// Advances the time, and runs due actions in order.
    func pass(_ span: Duration) {
        let end = now + span
        while let action = next(until: end) { action() }
        clock.time = end
    }

    private func next(until end: Timestamp) -> (@Sendable () -> Void)? {
        due.withLock { due in
            guard let first = due.indices.min(by: { due[$0].time < due[$1].time }), due[first].time <= end else {
                return nil
            }
            let next = due.remove(at: first)
            clock.time = max(clock.time, next.time)
            return next.action
        }
    }
}

extension WatchedAccount {
    /// An account that registered long before the tests start.
    static func sample(
        _ number: Int,
        registeredAt: Int64 = WatchBench.start - 86_400,
        relays: [String] = [],
        readRelays: [String] = [],
        messageRelays: [String] = [],
        messageKeys: [Int] = [],
        partners: [Int] = []
    ) -> WatchedAccount {
        WatchedAccount(
            key: .sample(number),
            registeredAt: registeredAt,
            relays: relays,
            readRelays: readRelays,
            messageRelays: messageRelays,
            messageKeys: messageKeys.map { .sample($0) },
            partners: Set(partners.map { .sample($0) }),
            isPartnered: !partners.isEmpty
        )
    }
}

/// Plays a relay without stored events towards the relay pool, and records the requests.
struct ConversationReader {
    private var session = RelaySession(settings: SessionSettings(ownKeys: [.sample(9_999)]))
    private(set) var filters: [Filter] = []

    /// Applies `changes`, then connects. `mark` is in seconds since 1970.
    mutating func read(_ changes: [WatchChange], mark: Int64?, now: Timestamp) {
        var actions = session.update(changes, now: now)
        actions += session.connected(limitation: RelayLimitation(), mark: mark, now: now)
        for step in 0..<100 {
            var next = session.tick(now: now + .seconds(step))
            for case .send(.request(let id, let asked)) in actions {
                filters += asked
                next += session.receive(.endOfStoredEvents(id), now: now + .seconds(step))
            }
            actions = next
        }
    }

    /// Returns the start of the request for stored events that name `key`, except gift wraps; seconds since 1970.
    func oldest(naming key: PublicKey) -> Int64? {
        filters.filter { filter in
            filter.limit ?? 2 > 1 && filter.tags.values.contains { $0.contains(key.hex) }
                && !(filter.kinds?.contains(.giftWrap) ?? false)
        }.compactMap(\.since).min()
    }
}

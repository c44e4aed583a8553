import Logging
import Nostr
import Registry
import RelayPool
import Schnorr
import Testing
import Units

@testable import AccountWatch

/// An account watch on a temporary file, on a clock that stands still.
final class Bench {
    /// 2026-03-14, in seconds.
    static let start: Int64 = 1_773_446_400

    let folder: TemporaryFolder
    let time = ManualTime(Timestamp(seconds: start))
    let accounts = FakeAccounts()
    private(set) var relays = FakeRelays()
    private(set) var registry: Registry
    private(set) var watch: AccountWatch
    var configuration: AccountWatch.Configuration

    init(
        always: [String] = [],
        change: (inout AccountWatch.Configuration) -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder()
        configuration = AccountWatch.Configuration()
        configuration.always = always.compactMap { RelayURL($0) }
        change(&configuration)
        registry = try Bench.open(folder, time)
        watch = try Bench.watch(registry, accounts, configuration, time)
    }

    /// Ends and begins again, without ending properly first if `properly` is false.
    func restart(properly: Bool = true) throws {
        if properly { watch.shutdown() }
        relays = FakeRelays()
        registry = try Bench.open(folder, time)
        watch = try Bench.watch(registry, accounts, configuration, time)
        try watch.start(at: relays)
    }

    func begin() throws { try watch.start(at: relays) }

    /// Registers an account, or changes it, and lets that be worked off.
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

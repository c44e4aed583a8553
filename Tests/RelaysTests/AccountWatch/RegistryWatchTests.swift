import Core
import Logging
import Nostr
import Synchronization
import Testing

@testable import Registry
@testable import Relays

/// The watch and the registry together, from events to the watched relays.
final class RegistryWatchTests {
    private let folder: TemporaryFolder
    private let time = ManualTime(Timestamp(seconds: WatchBench.start))
    private let relays = FakeRelays()
    private let identity: KeyPair
    private let account: KeyPair
    private let registry: Registry
    private let watch: AccountWatch

    init() throws {
        folder = try TemporaryFolder()
        identity = try KeyPair(secret: SecretKey(bytes: Array(repeating: 0x11, count: 32)))
        account = try KeyPair(secret: SecretKey(bytes: Array(repeating: 0x22, count: 32)))
        let observer = LateObserver()
        let time = time
        registry = try Registry(
            store: RegistryStore(path: folder.file("carillon.sqlite")),
            identity: identity,
            now: { time.now },
            changed: { observer.changed($0) },
            check: { _ in }
        )
        var configuration = AccountWatch.Configuration()
        configuration.always = [RelayURL("wss://always.example")].compactMap { $0 }
        watch = try AccountWatch(
            registry: registry,
            configuration: configuration,
            now: { time.now },
            schedule: time.schedule,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        )
        observer.watch = watch
        try watch.start(at: relays)
    }

    /// Forwards the registry's reports to a watch that is created after the registry.
    private final class LateObserver: Sendable {
        private let held = Mutex<AccountWatch?>(nil)

        var watch: AccountWatch? {
            get { held.withLock { $0 } }
            set { held.withLock { $0 = newValue } }
        }

        func changed(_ keys: Set<PublicKey>) { watch?.changed(keys) }
    }

    private func event(_ kind: Kind, _ tags: [[String]], content: String = "", at seconds: Int64, id: UInt8) -> Event {
        Event(
            id: EventID(Bytes32(words: (UInt64(id), 0, 0, 0))),
            pubkey: account.publicKey,
            createdAt: WatchBench.start + seconds,
            kind: kind,
            tags: tags,
            content: content,
            signature: Signature(first: Bytes32(words: (0, 0, 0, 0)), second: Bytes32(words: (0, 0, 0, 0)))
        )
    }

    private func register(_ json: String, at seconds: Int64, id: UInt8) throws {
        let key = try ConversationKey(secret: account.secret, public: identity.publicKey)
        let content = json.isEmpty ? "" : try NIP44.encrypt(json, key: key, nonce: Array(repeating: id, count: 32))
        _ = try registry.apply(
            event(.pushRegistration, [["d", identity.publicKey.hex]], content: content, at: seconds, id: id)
        )
        time.pass(.milliseconds(200))
    }

    @Test func publishedRelayListsMoveTheWatch() throws {
        try register(#"{"platform":"ios","token":"\#(String(repeating: "ab", count: 32))"}"#, at: 0, id: 1)
        #expect(relays.relays(of: account.publicKey) == ["wss://always.example"])
        #expect(relays.watched(account.publicKey, at: "wss://always.example")?.since == WatchBench.start)

        let readRelays = [["r", "wss://read.example"], ["r", "wss://write.example", "write"]]
        _ = try registry.learn(event(.relayList, readRelays, at: 0, id: 2))
        time.pass(.milliseconds(200))
        #expect(relays.relays(of: account.publicKey) == ["wss://always.example", "wss://read.example"])

        let former = PublicKey.sample(100)
        let devices = [["dm_key", former.hex], ["relay", "wss://dm.example"]]
        _ = try registry.learn(event(.deviceList, devices, at: 0, id: 3))
        time.pass(.milliseconds(200))
        #expect(
            relays.relays(of: account.publicKey) == ["wss://always.example", "wss://dm.example", "wss://read.example"]
        )
        #expect(relays.relays(of: former) == relays.relays(of: account.publicKey))

        let next = PublicKey.sample(101)
        _ = try registry.learn(event(.deviceList, [["dm_key", next.hex]], at: 1, id: 4))
        time.pass(.milliseconds(200))
        #expect(relays.relays(of: account.publicKey) == ["wss://always.example", "wss://read.example"])
        #expect(relays.relays(of: next) == ["wss://always.example", "wss://read.example"])
        #expect(relays.relays(of: former) == ["wss://always.example", "wss://read.example"])

        try register("", at: 2, id: 5)
        #expect(relays.relays.isEmpty)
    }

    @Test func relaysAndPartnersOfARegistrationAreWatched() throws {
        let partner = PublicKey.sample(50)
        try register(
            """
            {"platform":"ios","token":"\(String(repeating: "ab", count: 32))",
            "relays":["wss://mine.example"],"partners":["\(partner.hex)"]}
            """,
            at: 0,
            id: 1
        )
        #expect(relays.relays(of: account.publicKey) == ["wss://always.example", "wss://mine.example"])
        #expect(relays.relays(of: partner) == ["wss://always.example", "wss://mine.example"])
        #expect(relays.watched(partner, at: "wss://always.example")?.interest == .authored)
        try register("", at: 1, id: 2)
        #expect(relays.relays.isEmpty)
    }
}

import Foundation
import GRDB
import Nostr
import Notifications
import PlatformTestSupport
import Platforms
import Testing
import TimeTestSupport
import Units

@testable import Registry

/// Registries as each earlier version left them: see make_fixtures.py.
struct EarlierVersionsTests {
    private static func fixture(_ version: Int, in folder: TemporaryFolder) throws -> String {
        let source = try #require(
            Bundle.module.url(forResource: "registry-\(version)", withExtension: "sql", subdirectory: "Fixtures")
        )
        let path = folder.file("registry-\(version).sqlite")
        // Rows come in the order of tables, and not of what belongs to what.
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        let sql = try String(contentsOf: source, encoding: .utf8)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
        return path
    }

    /// How many were published before this one; each has a fixture.
    private static var versions: ClosedRange<Int> { 1...RegistrySchema.migrator.migrations.count - 1 }

    @Test(arguments: versions)
    func nothingOfAnEarlierVersionIsLost(version: Int) throws {
        let bench = try Bench()
        let folder = try TemporaryFolder()
        let path = try Self.fixture(version, in: folder)
        let clock = bench.clock
        let registry = try Registry(
            store: RegistryStore(path: path),
            identity: bench.identity,
            now: { clock.time + .seconds(1000) },
            platforms: .builtIn,
            check: { _ in }
        )
        let devices = try registry.devices()
        #expect(devices.map(\.device.rawValue) == [1, 3, 7])
        #expect(devices.map(\.slot.deviceID) == ["", "tablet", ""])
        #expect(devices.map(\.route.platform) == ["ios", "ios", "ntfy"])
        #expect(devices.map(\.registeredAt) == [1, 3, 7].map { Bench.time($0) })
        let tokens = try devices.map { try registry.address(of: $0.device)?.token }
        #expect(tokens == ["token-of-alice", "token-of-the-tablet", "https://ntfy.example/bob"])
        let (alice, bob, carol) = (try bench.key(0x21), try bench.key(0x22), try bench.key(0x23))
        #expect(try registry.storedEvents(of: alice).count == 2)
        // What was taken is known, what left stays away, and what is new finds its place.
        for event in try registry.storedEvents(of: alice) + registry.storedEvents(of: bob) {
            #expect(try registry.apply(event) == .duplicate)
        }
        #expect(try registry.apply(bench.event(of: 0x23, Samples.phone("too old"), at: 40)) == .outdated)
        #expect(try registry.storedEvents(of: carol).count == 1)
        #expect(try registry.apply(bench.event(of: 0x25, Samples.phone("below the floor"), at: 55)) == .outdated)
        let new = try registry.apply(bench.event(of: 0x22, Samples.phone("new"), at: 500))
        #expect(new == .updated(DeviceID(rawValue: 7)))
        let watched = try #require(try registry.watchedAccount(alice))
        #expect(watched.relays == ["wss://inbox.example"])
        #expect(watched.registeredAt == Bench.start + 1)
        if version >= 2 {
            #expect(watched.messageRelays == ["wss://messages.example"])
            #expect(watched.messageKeys == [try bench.key(0x25)])
        }
        let german = try #require(LanguageTag("de"))
        let index = try registry.load(languages: [german])
        let found = index.account(of: alice)
        var languages: [LanguageTag?] = []
        index.forEachDevice(of: try #require(found)) { languages.append(index.languages[$0.language]) }
        #expect(languages.count == 2 && languages.contains(german) && languages.contains(nil))
    }

    @Test(arguments: versions)
    func itsTablesBecomeThoseOfANewOne(version: Int) throws {
        func schema(_ path: String) throws -> [String] {
            try DatabaseQueue(path: path).read { database in
                try String.fetchAll(database, sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
            }
        }
        let folder = try TemporaryFolder()
        let path = try Self.fixture(version, in: folder)
        _ = try RegistryStore(path: path)
        let new = folder.file("new.sqlite")
        _ = try RegistryStore(path: new)
        #expect(try schema(path) == schema(new), "a migration that was published was changed")
        #expect(try RegistryExamination(path: path, identity: nil).run().findings == [])
    }
}

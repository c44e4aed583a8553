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

struct MigrationTests {
    /// A registry of the first version, in which account 1 has a device and account 2 left.
    @Test func aRegistryOfTheFirstVersionIsCarriedOver() throws {
        let bench = try Bench()
        let folder = try TemporaryFolder()
        let path = folder.file("first.sqlite")
        let queue = try DatabaseQueue(path: path)
        try RegistrySchema.migrator.migrate(queue, upTo: "1 devices, tombstones, events, follows")
        let event = try bench.event(of: 1, Samples.phone("one", further: #","relays":["wss://a.example"]"#))
        let vault = try TokenVault(identity: bench.identity.secret)
        let device = DeviceID(rawValue: 7)
        let content = try vault.seal(
            Array(Samples.phone("one", further: #","relays":["wss://a.example"]"#).utf8),
            of: device,
            for: .content
        )
        let address = try vault.seal(
            AddressCodec.encode(
                DeviceAddress(platform: "ios", app: "default", token: "one", registeredAt: Bench.time())
            ),
            of: device,
            for: .address
        )
        try queue.write { db in
            let account = try bench.key(1).bytes.data
            try db.execute(sql: "INSERT INTO meta VALUES ('identity', ?)", arguments: [bench.identity.publicKey.hex])
            try db.execute(sql: "INSERT INTO routes VALUES (1, 'ios', 'default')")
            try db.execute(
                sql: "INSERT INTO devices VALUES (7, ?, '', ?, ?, ?, 1, NULL, 1, NULL)",
                arguments: [account, Bench.start, event.id.bytes.data, Bench.time()]
            )
            try db.execute(
                sql: "INSERT INTO secrets VALUES (7, ?, ?, ?)",
                arguments: [Data(vault.handle(of: "one")), Data(address), Data(content)]
            )
            try db.execute(
                sql: "INSERT INTO own_events VALUES (?, 'device ', ?)",
                arguments: [account, String(decoding: event.json, as: UTF8.self)]
            )
            try db.execute(
                sql: "INSERT INTO tombstones VALUES (?, '', ?, ?)",
                arguments: [try bench.key(2).bytes.data, Bench.start + 5, event.id.bytes.data]
            )
        }
        try queue.close()
        let clock = bench.clock
        let registry = try Registry(
            store: RegistryStore(path: path),
            identity: bench.identity,
            now: clock.now,
            platforms: .builtIn,
            check: { _ in }
        )
        #expect(try registry.watchedAccount(bench.key(1))?.relays == ["wss://a.example"])
        #expect(try registry.address(of: device)?.token == "one")
        #expect(try registry.storedEvents(of: bench.key(1)) == [event])
        #expect(try registry.apply(event) == .duplicate)
        #expect(try registry.apply(bench.event(of: 2, Samples.phone("two"))) == .outdated)
        #expect(try registry.apply(bench.event(of: 1, Samples.phone("new"), at: 1)) == .updated(device))
    }

    @Test func devicesFromBeforeSpeakTheirLanguage() throws {
        let bench = try Bench()
        let further = #","locale":"de-AT","sealing_key":"\#(try bench.key(9).hex)""#
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("one", further: further)))
        let queue = try DatabaseQueue(path: bench.path)
        try queue.write { db in
            try db.execute(sql: "UPDATE devices SET locale = NULL, has_sealing_key = 0")
            try db.execute(sql: "DELETE FROM meta WHERE name = 'device wishes'")
        }
        try queue.close()
        try bench.reopen()
        let german = try #require(LanguageTag("de"))
        let index = try bench.registry.load(languages: [german])
        let found = index.account(of: try bench.key(1))
        index.forEachDevice(of: try #require(found)) {
            #expect(index.languages[$0.language] == german)
            #expect($0.hasSealingKey)
        }
    }

    @Test func devicesFromBeforeAreRegisteredSinceTheirLastRegistration() throws {
        let bench = try Bench()
        let folder = try TemporaryFolder()
        let path = folder.file("fourth.sqlite")
        let queue = try DatabaseQueue(path: path)
        try RegistrySchema.migrator.migrate(queue, upTo: "4 remote sessions")
        try queue.write { db in
            try db.execute(sql: "INSERT INTO meta VALUES ('identity', ?)", arguments: [bench.identity.publicKey.hex])
            try db.execute(sql: "INSERT INTO meta VALUES ('wishes', 'out')")
            try db.execute(sql: "INSERT INTO routes VALUES (1, 'ios', 'default')")
            try db.execute(
                sql: """
                    INSERT INTO devices (author, device_id, created_at, event_id, registered_at, route, signals)
                    VALUES (?, '', ?, zeroblob(32), ?, 1, 1)
                    """,
                arguments: [try bench.key(1).bytes.data, Bench.start, Bench.time() + .milliseconds(999)]
            )
        }
        try queue.close()
        let clock = bench.clock
        let registry = try Registry(
            store: RegistryStore(path: path),
            identity: bench.identity,
            now: clock.now,
            platforms: .builtIn,
            check: { _ in }
        )
        #expect(try registry.watchedAccount(bench.key(1))?.registeredAt == Bench.start)
        clock.advance(by: .minutes(1))
        #expect(try registry.apply(bench.event(of: 1, Samples.phone("one"), at: 60)).isAccepted)
        #expect(try registry.watchedAccount(bench.key(1))?.registeredAt == Bench.start)
    }
}

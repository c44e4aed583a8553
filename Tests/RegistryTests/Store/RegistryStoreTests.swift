import Foundation
import GRDB
import Nostr
import Push
import Storage
import Testing
import TimeTestSupport

@testable import Registry

struct RegistryStoreTests {
    @Test func writesDurably() throws {
        let folder = try TemporaryFolder()
        let store = try RegistryStore(path: folder.file("r.sqlite"))
        let (synchronous, journal) = try store.write { rows in
            try (
                Int.fetchOne(rows.db, sql: "PRAGMA synchronous"), String.fetchOne(rows.db, sql: "PRAGMA journal_mode")
            )
        }
        #expect(synchronous == 2)
        #expect(journal == "wal")
    }

    @Test func isReadableByItsOwnerOnly() throws {
        let folder = try TemporaryFolder()
        let store = try RegistryStore(path: folder.file("r.sqlite"))
        #expect(try store.write { try $0.claim(for: "x") } == "x")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count == 3)
        for name in names {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(name)")
        }
    }

    @Test func failedTransactionLeavesNoRows() throws {
        struct Stop: Error {}
        let folder = try TemporaryFolder()
        let store = try RegistryStore(path: folder.file("r.sqlite"))
        #expect(throws: Stop.self) {
            try store.write { rows -> Int in
                _ = try rows.claim(for: "x")
                throw Stop()
            } afterwards: { _ in
                Issue.record("nothing was written")
            }
        }
        #expect(try store.write { try $0.claim(for: "y") } == "y")
    }

    @Test func nonDatabaseFileIsRefusedAndUnchanged() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("r.sqlite")
        let contents = Data(repeating: 0x41, count: 8192)
        try contents.write(to: URL(filePath: path))
        let error = #expect(throws: StoreError.self) { _ = try RegistryStore(path: path) }
        #expect(error?.isDamage == true)
        #expect(error?.description.contains(path) == true)
        #expect(try Data(contentsOf: URL(filePath: path)) == contents)
    }

    @Test func refusesADatabaseThatWasDamaged() throws {
        let bench = try Bench()
        for account in 1...40 as ClosedRange<UInt8> {
            _ = try bench.registry.apply(bench.event(of: account, Samples.phone("token-\(account)")))
        }
        // A copy without a log, so that the pages are read from the file itself.
        let folder = try TemporaryFolder()
        let copy = folder.file("copy.sqlite")
        try DatabaseQueue(path: bench.path).vacuum(into: copy)
        var bytes = try Data(contentsOf: URL(filePath: copy))
        for offset in 4096..<bytes.count where offset % 4096 < 100 { bytes[offset] = 0xFE }
        try bytes.write(to: URL(filePath: copy))
        let error = #expect(throws: StoreError.self) { _ = try RegistryStore(path: copy) }
        #expect(error?.isDamage == true)
        #expect(try Data(contentsOf: URL(filePath: copy)) == bytes)
    }

    @Test func databaseOfANewerFormatIsRefused() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("r.sqlite")
        do {
            let store = try RegistryStore(path: path)
            try store.write { rows in
                try rows.execute("INSERT INTO grdb_migrations (identifier) VALUES ('2 something new')")
            }
        }
        let error = #expect(throws: StoreError.self) { _ = try RegistryStore(path: path) }
        #expect(error?.cause == .version(found: "2 something new", expected: "registry 1"))
    }

    @Test func refusesADatabaseFromBeforeTheFirstRelease() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("r.sqlite")
        let queue = try DatabaseQueue(path: path)
        var older = DatabaseMigrator()
        older.registerMigration("1 devices, tombstones, events, follows") {
            try $0.execute(sql: "CREATE TABLE tombstones (account BLOB NOT NULL)")
        }
        try older.migrate(queue)
        try queue.close()
        let error = #expect(throws: StoreError.self) { _ = try RegistryStore(path: path) }
        let expected = StoreError.Cause.version(
            found: "1 devices, tombstones, events, follows",
            expected: "registry 1"
        )
        #expect(error?.cause == expected)
    }

    @Test func refusesAnotherIdentity() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("token")))
        let stranger = try bench.account(9)
        #expect(throws: RegistryStoreError.anotherIdentity(path: bench.path)) {
            let store = try RegistryStore(path: bench.path)
            _ = try Registry(store: store, identity: stranger, now: { 0 }, check: { _ in })
        }
        #expect(try bench.tokens(of: 1) == ["token"])
    }

    @Test func missingFolderIsReported() throws {
        let error = #expect(throws: StoreError.self) {
            _ = try RegistryStore(path: "/nonexistent/folder/r.sqlite")
        }
        #expect(error?.description.hasPrefix("the registry /nonexistent/folder/r.sqlite cannot be opened") == true)
    }

    @Test func foldsTheOldestTombstonesIntoAFloor() throws {
        let bench = try Bench()
        let count = RegistryRows.tombstonesPerAccount
        let farewells = try (0...count).map { number in
            try bench.event(of: 1, "", at: Int64(number) - 1000, device: "d\(number)")
        }
        #expect(try bench.registry.apply(farewells).allSatisfy { $0 == .deregistered })
        let tombstones = try DatabaseQueue(path: bench.path).read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM tombstones")
        }
        #expect(tombstones == count)
        // The first device's tombstone is gone, but an old event still does not restore it; a new one is accepted.
        let old = try bench.event(of: 1, Samples.phone("t"), at: -1000, device: "d0")
        #expect(try bench.registry.apply(old) == .outdated)
        let new = try bench.event(of: 1, Samples.phone("t"), at: -999, device: "d0")
        #expect(try bench.registry.apply(new).isAccepted)
    }
}

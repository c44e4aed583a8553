import Foundation
import GRDB
import Testing

@testable import Storage

struct StoreFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    static let kind = StoreKind(
        name: "the box",
        costOfLoss: "loses its things",
        table: "things",
        migrator: migrator(upTo: 2)
    )

    static func migrator(upTo version: Int) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("box-1") {
            try $0.execute(sql: "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        }
        if version > 1 {
            migrator.registerMigration("box-2") {
                try $0.execute(sql: "CREATE TABLE marks (name TEXT PRIMARY KEY) WITHOUT ROWID")
            }
        }
        return migrator
    }

    private var path: String { folder.file("box") }
    private var file: StoreFile { StoreFile(path: path, kind: Self.kind) }

    /// A database of some pages, closed.
    private func fill(_ count: Int = 2000) throws {
        let pool = try file.open(Configuration())
        try pool.write { database in
            for number in 1...count {
                let name = "thing \(number) " + String(repeating: "x", count: 60)
                try database.execute(sql: "INSERT INTO things VALUES (?, ?)", arguments: [number, name])
                try database.execute(sql: "INSERT INTO marks VALUES (?)", arguments: [name])
            }
        }
        try pool.close()
    }

    private func bytes() throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    private func refusal() throws -> StoreError.Cause {
        let before = try? bytes()
        let fault = try #require(#expect(throws: StoreError.self) { _ = try file.open(Configuration()) })
        #expect((try? bytes()) == before, "what was refused was changed")
        #expect(fault.description.contains(path))
        return fault.cause
    }

    @Test func newStoreIsCompleteFlushedAndPrivateToItsOwner() throws {
        let pool = try file.open(Configuration())
        let synchronous = try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        #expect(synchronous == 2)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(!FileManager.default.fileExists(atPath: path + "-new"))
    }

    @Test func leftoverOfAnAbortedFirstStartIsReplaced() throws {
        try Data("half a database".utf8).write(to: URL(filePath: path + "-new"))
        try file.open(Configuration()).close()
        #expect(try StoreInspection(file).thoroughFindings() == [])
    }

    /// Leaves at `path` the files of a process that is killed in the middle of a transaction with a rollback journal.
    private func leaveHalfATransaction() throws {
        let source = folder.file("source")
        let queue = try DatabaseQueue(path: source)
        try Self.kind.migrator.migrate(queue)
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA cache_size = 1")
            for number in 1...200 {
                let name = String(repeating: "before ", count: 80)
                try database.execute(sql: "INSERT INTO things VALUES (?, ?)", arguments: [number, name])
            }
            try database.inTransaction {
                try database.execute(sql: "UPDATE things SET name = replace(name, 'before', 'after')")
                for end in ["", "-journal"] {
                    try FileManager.default.copyItem(atPath: source + end, toPath: path + end)
                }
                return .rollback
            }
        }
        #expect(try bytes().range(of: Data("after ".utf8)) != nil, "the transaction has not reached the file")
    }

    @Test(arguments: [false, true])
    func transactionOfAKilledProcessIsRolledBackBeforeReading(isForReading: Bool) throws {
        try leaveHalfATransaction()
        let pool = try isForReading ? file.openForReading(Configuration()) : file.open(Configuration())
        let changed = try pool.read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM things WHERE name LIKE 'after%'")
        }
        #expect(changed == 0)
        #expect(!FileManager.default.fileExists(atPath: path + "-journal"))
    }

    @Test func newStoreIsInWALModeBeforeItGetsItsName() throws {
        try file.make { try Self.kind.migrator.migrate($0) }
        // Bytes 18 and 19 of the header; changing a file to WAL later requires a rollback journal next to it.
        #expect(try Array(bytes()[18..<20]) == [2, 2])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("")) == ["box"])
    }

    @Test func storeThatCannotBeCompletedIsNotCreated() throws {
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try file.make { queue in
                try Self.kind.migrator.migrate(queue)
                throw Stop()
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("")) == [])
    }

    @Test func emptyFileIsDamagedNotNew() throws {
        try Data().write(to: URL(filePath: path))
        #expect(try refusal() == .empty)
    }

    @Test func orphanedLogIsNotDeleted() throws {
        try Data("frames".utf8).write(to: URL(filePath: path + "-wal"))
        #expect(try refusal() == .withoutItsFile)
        #expect(FileManager.default.fileExists(atPath: path + "-wal"))
    }

    @Test func danglingLinkIsNotReplaced() throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder.file("unmounted/box"))
        #expect(try refusal() == .cannotOpen("it is a link to a missing file"))
    }

    @Test func foreignDatabaseIsNotChanged() throws {
        try DatabaseQueue(path: path).write { try $0.execute(sql: "CREATE TABLE bookmarks (url TEXT)") }
        #expect(try refusal() == .foreign)
    }

    private func kind(_ migrator: DatabaseMigrator) -> StoreKind {
        StoreKind(name: "the box", costOfLoss: "loses its things", table: "things", migrator: migrator)
    }

    @Test func newerFormatIsRefusedByName() throws {
        try fill(1)
        let fault = #expect(throws: StoreError.self) {
            _ = try StoreFile(path: path, kind: kind(Self.migrator(upTo: 1))).open(Configuration())
        }
        #expect(fault?.cause == .version(found: "box-2", expected: "box-1"))
        #expect(fault?.description.contains("\u{201C}box-2\u{201D}") == true)
    }

    /// A database of a format that no migration leads from, with a column that the present one lacks.
    private func makeOlderFormat() throws {
        var older = DatabaseMigrator()
        older.registerMigration("old box 7") {
            try $0.execute(sql: "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL, color TEXT)")
        }
        let queue = try DatabaseQueue(path: path)
        try older.migrate(queue)
        try queue.write { try $0.execute(sql: "INSERT INTO things VALUES (1, 'cup', 'red'), (2, 'jug', NULL)") }
        try queue.close()
    }

    @Test func olderFormatIsRefusedWithFormatsAndFixes() throws {
        try makeOlderFormat()
        #expect(try refusal() == .version(found: "old box 7", expected: "box-2"))
        let fault = #expect(throws: StoreError.self) { _ = try file.openForReading(Configuration()) }
        #expect(
            fault?.description == """
                the box \(path) has the format “old box 7”, and this version of Carillon expects “box-2”. It was not \
                changed. Run the version that wrote it. Move it and \(path)-wal away and restore a backup; or save \
                the readable part with `carillon store rescue`; or move both away and start with an empty one, which \
                loses its things
                """
        )
    }

    @Test func rowsOfAnOlderFormatAreRescued() throws {
        try makeOlderFormat()
        let target = folder.file("rescued")
        let tables = try StoreRescue(file).save(to: target)
        #expect(tables.first { $0.name == "things" } == StoreRescue.Table(name: "things", rows: 2, isWhole: true))
        let rescued = StoreFile(path: target, kind: Self.kind)
        let names = try rescued.open(Configuration()).read { try String.fetchAll($0, sql: "SELECT name FROM things") }
        #expect(names == ["cup", "jug"])
    }

    @Test func aMigrationUpdatesAnExistingDatabase() throws {
        let pool = try StoreFile(path: path, kind: kind(Self.migrator(upTo: 1))).open(Configuration())
        try pool.write { try $0.execute(sql: "INSERT INTO things VALUES (1, 'cup')") }
        try pool.close()
        // A reader must not change it, and reports what is missing.
        let fault = #expect(throws: StoreError.self) { _ = try file.openForReading(Configuration()) }
        #expect(fault?.cause == .unmigrated)
        let migrated = try file.open(Configuration())
        #expect(try migrated.read { try $0.tableExists("marks") })
        #expect(try migrated.read { try String.fetchAll($0, sql: "SELECT name FROM things") } == ["cup"])
    }

    @Test(arguments: [0.25, 0.5, 0.9])
    func damagedPageIsFoundBeforeAnyWrite(place: Double) throws {
        try fill()
        var damaged = try bytes()
        let page = Int(Double(damaged.count / 4096) * place) * 4096
        damaged.replaceSubrange(page..<page + 4096, with: [UInt8](repeating: 0xFE, count: 4096))
        try damaged.write(to: URL(filePath: path))
        guard case .damaged = try refusal() else {
            Issue.record("expected damage to be found")
            return
        }
    }

    @Test func rowsNextToADamagedPageAreRescued() throws {
        try fill()
        var damaged = try bytes()
        let page = damaged.count / 4096 / 2 * 4096
        damaged.replaceSubrange(page..<page + 4096, with: [UInt8](repeating: 0xFE, count: 4096))
        try damaged.write(to: URL(filePath: path))
        let target = folder.file("rescued")
        let tables = try StoreRescue(file).save(to: target)
        #expect(try bytes() == damaged)
        #expect(tables.map(\.name).sorted() == ["marks", "things"])
        #expect(tables.contains { !$0.isWhole })
        // A page holds some fifty rows.
        #expect(tables.allSatisfy { $0.rows > 1800 }, "\(tables)")
        #expect(tables.contains { $0.rows < 2000 }, "\(tables)")
        let rescued = StoreFile(path: target, kind: Self.kind)
        #expect(try StoreInspection(rescued).thoroughFindings() == [])
        let names = try rescued.open(Configuration()).read { database in
            try Bool.fetchOne(database, sql: "SELECT min(name LIKE 'thing ' || id || ' x%') FROM things")
        }
        #expect(names == true)
        #expect(throws: StoreError.self) { _ = try StoreRescue(file).save(to: target) }
    }

    @Test func soundStoreIsRescuedCompletely() throws {
        try fill()
        let tables = try StoreRescue(file).save(to: folder.file("rescued"))
        #expect(tables.allSatisfy { $0.isWhole && $0.rows == 2000 })
    }

    @Test func laterDamageIsReportedOnceAndStopsAllWriting() throws {
        try fill()
        let pool = try file.open(Configuration())
        let told = Tally()
        let watch = CorruptionGuard(file) { _ in told.add() }
        var damaged = try bytes()
        for page in 1..<damaged.count / 4096 {
            damaged.replaceSubrange(page * 4096..<page * 4096 + 100, with: [UInt8](repeating: 0xFE, count: 100))
        }
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.write(contentsOf: damaged)
        for _ in 0..<3 {
            let fault = #expect(throws: StoreError.self) {
                try watch.reading { try pool.read { _ = try Row.fetchAll($0, sql: "SELECT * FROM things") } }
            }
            #expect(fault?.isDamage == true)
        }
        #expect(told.count == 1)
        #expect(watch.damage != nil)
        #expect(throws: StoreError.self) {
            try watch.writing { Issue.record("wrote to a damaged file") }
        }
    }
}

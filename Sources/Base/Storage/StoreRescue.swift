import GRDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Saves the readable part of a damaged database to a new one that can replace it. The damaged one is not changed.
package struct StoreRescue: Sendable {
    /// The result for a table.
    package struct Table: Sendable, Hashable {
        package let name: String
        /// The number of saved rows.
        package let rows: Int
        /// Whether all rows were saved, if that can be determined.
        package let isWhole: Bool
    }

    private let file: StoreFile

    package init(_ file: StoreFile) {
        self.file = file
    }

    /// Writes to the file at `target`, which must not exist yet and gets the owner of the damaged one. Throws a
    /// ``StoreError`` if even the names of the tables cannot be read, or if `target` cannot be written.
    package func save(to target: String) throws -> [Table] {
        let new = StoreFile(path: target, kind: file.kind)
        var status = stat()
        guard lstat(target, &status) != 0 else { throw new.fault(.inTheWay) }
        return try file.reading { source in
            let version = try latestMigration(source)
            return try new.make(ownedLike: file.path) { queue in
                try file.kind.migrator.migrate(queue, upTo: version)
                return try queue.writeWithoutTransaction { database in
                    try database.execute(sql: "PRAGMA foreign_keys = OFF")
                    var tables: [Table] = []
                    try database.inTransaction {
                        tables = try copy(source, database)
                        try file.kind.mend(database)
                        return .commit
                    }
                    return tables
                }
            }
        }
    }

    /// The last migration of the damaged database; if that cannot be determined or is unknown, the latest of all.
    private func latestMigration(_ source: Database) throws -> String {
        let known = file.kind.migrator.migrations
        _ = try Int.fetchOne(source, sql: "SELECT count(*) FROM sqlite_schema")
        let applied = (try? String.fetchSet(source, sql: "SELECT identifier FROM grdb_migrations")) ?? []
        guard let latest = known.last(where: applied.contains) ?? known.last else { throw file.fault(.foreign) }
        return latest
    }

    private func copy(_ source: Database, _ target: Database) throws -> [Table] {
        let names = try String.fetchAll(
            target,
            sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'grdb_migrations' ORDER BY rowid"
        )
        // The triggers' effects are already in the rows.
        let triggers = try Row.fetchAll(target, sql: "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        for trigger in triggers { try target.execute(sql: "DROP TRIGGER \(trigger[0] as String)") }
        for name in names { try target.execute(sql: "DELETE FROM \(name)") }
        let tables = try names.map { try TableRescue($0, in: target, from: source).copy(from: source, to: target) }
        for trigger in triggers { try target.execute(sql: trigger[1]) }
        return tables
    }
}

/// Copies the rows of one table out of a damaged database: from its start, from its end, and after unreadable parts.
struct TableRescue {
    private let name: String
    private let columns: [String]
    private let key: [String]
    private let hasRowIDs: Bool

    /// `target` has the intact table. A `source` of another format may lack some of its columns.
    init(_ name: String, in target: Database, from source: Database) throws {
        self.name = name
        let all = try Row.fetchAll(target, sql: "PRAGMA table_xinfo(\(name))")
        let stored = try Set(Row.fetchAll(source, sql: "PRAGMA table_xinfo(\(name))").map { $0["name"] as String })
        // Generated columns are hidden.
        columns = all.filter { ($0["hidden"] as Int) == 0 }.map { $0["name"] }.filter {
            stored.isEmpty || stored.contains($0)
        }
        key = all.filter { ($0["pk"] as Int) > 0 }.sorted { ($0["pk"] as Int) < ($1["pk"] as Int) }.map { $0["name"] }
        hasRowIDs = (try? target.makeStatement(sql: "SELECT rowid FROM \(name)")) != nil
    }

    func copy(from source: Database, to target: Database) throws -> StoreRescue.Table {
        let list = columns.joined(separator: ", ")
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        let insert = try target.makeStatement(sql: "INSERT OR IGNORE INTO \(name) (\(list)) VALUES (\(places))")
        let isWhole =
            hasRowIDs
            ? try byRowID(source, list, insert)
            : try inKeyOrder(source, list, insert, "ASC")
        if !isWhole, !hasRowIDs { _ = try inKeyOrder(source, list, insert, "DESC") }
        let rows = try Int.fetchOne(target, sql: "SELECT count(*) FROM \(name)") ?? 0
        return StoreRescue.Table(name: name, rows: rows, isWhole: isWhole)
    }

    private func inKeyOrder(_ source: Database, _ list: String, _ insert: Statement, _ order: String) throws -> Bool {
        let keys = key.map { "\($0) \(order)" }.joined(separator: ", ")
        return try attempt {
            let rows = try Row.fetchCursor(source, sql: "SELECT \(list) FROM \(name) ORDER BY \(keys)")
            while let row = try rows.next() { try put(row, from: 0, insert) }
        }
    }

    private func byRowID(_ source: Database, _ list: String, _ insert: Statement) throws -> Bool {
        let forward = try walk(
            source,
            insert,
            from: 0,
            by: 1,
            "SELECT rowid, \(list) FROM \(name) WHERE rowid > ? ORDER BY rowid"
        )
        guard !forward else { return true }
        let backward = "SELECT rowid, \(list) FROM \(name) WHERE rowid < ? ORDER BY rowid DESC"
        _ = try walk(source, insert, from: .max, by: -1, backward)
        return false
    }

    /// Continues after an unreadable part, in growing steps until a row can be read. Returns whether all rows could be
    /// read. Row ids must be positive.
    private func walk(
        _ source: Database,
        _ insert: Statement,
        from start: Int64,
        by direction: Int64,
        _ sql: String
    ) throws -> Bool {
        var isWhole = true
        var place = start
        var step = direction
        while true {
            let isThrough = try attempt {
                let rows = try Row.fetchCursor(source, sql: sql, arguments: [place])
                while let row = try rows.next() {
                    try put(row, from: 1, insert)
                    let number: Int64 = row[0]
                    // Never go back, even if the damaged file has rows out of order.
                    place = direction > 0 ? max(place, number) : min(place, number)
                    step = direction
                }
            }
            if isThrough { return isWhole }
            isWhole = false
            let (next, isBeyond) = place.addingReportingOverflow(step)
            let (wider, isTooWide) = step.multipliedReportingOverflow(by: 2)
            guard !isBeyond, !isTooWide, next >= 0 else { return false }
            (place, step) = (next, wider)
        }
    }

    /// Inserts a row. Skips a row that the table refuses, because the router never wrote it.
    private func put(_ row: Row, from first: Int, _ insert: Statement) throws {
        do {
            try insert.execute(arguments: StatementArguments(row.databaseValues.dropFirst(first)))
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return
        } catch let error as DatabaseError {
            throw TargetError(error: error)
        }
    }

    /// An error of the target, as opposed to damage of the source.
    private struct TargetError: Error {
        let error: DatabaseError
    }

    private func attempt(_ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return true
        } catch let failure as TargetError {
            throw failure.error
        } catch is DatabaseError {
            return false
        }
    }
}

/// A check of a database that does not change it.
package struct StoreInspection: Sendable {
    /// Files up to this size are checked at every start, which takes about a second.
    private static let quickBytes: Int64 = 256 << 20
    /// The maximum number of findings, because more would not be useful.
    private static let findings = 20

    private let file: StoreFile

    package init(_ file: StoreFile) {
        self.file = file
    }

    /// Throws a ``StoreError`` for a file that this version must not touch. Checks the pages of a file that is small
    /// enough.
    package func refuseUnusable() throws {
        guard try file.exists() else { return }
        try file.reading { database in
            try refuseStranger(database)
            let pages = try Int64.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            let size = try Int64.fetchOne(database, sql: "PRAGMA page_size") ?? 0
            try refuseCut(pageSize: size)
            guard pages * size <= Self.quickBytes else { return }
            let findings = try Self.ask(database, "PRAGMA quick_check(1)")
            if let finding = findings.first { throw file.fault(.damaged(finding)) }
        }
    }

    /// Returns all problems that SQLite and foreign keys reveal in the whole file; empty if it is intact or missing.
    /// Throws a ``StoreError`` if it cannot be opened. Takes about a second for each 100 MB.
    package func thoroughFindings() throws -> [String] {
        guard try file.exists() else { return [] }
        return try file.reading { database in
            try refuseStranger(database)
            try refuseCut(pageSize: Int64.fetchOne(database, sql: "PRAGMA page_size") ?? 0)
            let findings = try Self.ask(database, "PRAGMA integrity_check(\(Self.findings))")
            let dangling = try Row.fetchAll(database, sql: "PRAGMA foreign_key_check").prefix(Self.findings).map {
                row in
                "a row of \(row[0] as String) refers to a missing row of \(row[2] as String)"
            }
            return findings + dangling
        }
    }

    private static func ask(_ database: Database, _ pragma: String) throws -> [String] {
        try String.fetchAll(database, sql: pragma).filter { $0 != "ok" }
            .flatMap { $0.split(whereSeparator: \.isNewline).map(String.init) }
            .filter { !$0.hasPrefix("***") }
    }

    /// Throws if the last page is truncated, which SQLite reads as if it ended in zeros. While there is a log, a page
    /// may be half written: the log has the complete page.
    private func refuseCut(pageSize: Int64) throws {
        guard let size = StoreFile.size(of: file.path), StoreFile.size(of: file.path + "-wal") ?? 0 == 0 else { return }
        guard pageSize == 0 || size % pageSize == 0 else { throw file.fault(.damaged("its last page is truncated")) }
    }

    /// Throws for a database of another program or of a format that this version cannot read.
    package func refuseStranger(_ database: Database) throws {
        guard try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") != 0 else { return }
        let known = file.kind.migrator.migrations
        let applied =
            try database.tableExists("grdb_migrations")
            ? String.fetchAll(database, sql: "SELECT identifier FROM grdb_migrations ORDER BY rowid") : []
        if let unknown = applied.last(where: { !known.contains($0) }) {
            let isOurs = try applied.contains(where: known.contains) || database.tableExists(file.kind.table)
            throw file.fault(isOurs ? .version(found: unknown, expected: known.last ?? "") : .foreign)
        }
        guard !applied.isEmpty else { throw file.fault(.foreign) }
    }
}

import GRDB

/// A look at a database that changes nothing in it.
package struct StoreInspection: Sendable {
    /// Files up to this size are examined at every start, which takes about a second.
    private static let quickBytes: Int64 = 256 << 20
    /// Further findings would not help anybody.
    private static let findings = 20

    private let file: StoreFile

    package init(_ file: StoreFile) {
        self.file = file
    }

    /// Throws a ``StoreFault`` for a file that this version must not touch. Examines the pages of a file that is small
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

    /// All faults that SQLite and foreign keys reveal in the whole file; none when it is sound or missing. Throws a
    /// ``StoreFault`` when it cannot be opened. Takes about a second for each 100 MB.
    package func thoroughFindings() throws -> [String] {
        guard try file.exists() else { return [] }
        return try file.reading { database in
            try refuseStranger(database)
            try refuseCut(pageSize: Int64.fetchOne(database, sql: "PRAGMA page_size") ?? 0)
            let findings = try Self.ask(database, "PRAGMA integrity_check(\(Self.findings))")
            let dangling = try Row.fetchAll(database, sql: "PRAGMA foreign_key_check").prefix(Self.findings).map {
                row in
                "a row of \(row[0] as String) belongs to one of \(row[2] as String) that is missing"
            }
            return findings + dangling
        }
    }

    private static func ask(_ database: Database, _ pragma: String) throws -> [String] {
        try String.fetchAll(database, sql: pragma).filter { $0 != "ok" }
            .flatMap { $0.split(whereSeparator: \.isNewline).map(String.init) }
            .filter { !$0.hasPrefix("***") }
    }

    /// SQLite reads a truncated last page as if it ended in zeros. While there is a log, a page may be half written:
    /// the log has it whole.
    private func refuseCut(pageSize: Int64) throws {
        guard let size = StoreFile.size(of: file.path), StoreFile.size(of: file.path + "-wal") ?? 0 == 0 else { return }
        guard pageSize == 0 || size % pageSize == 0 else { throw file.fault(.damaged("its last page was cut")) }
    }

    /// Throws for a database of another program or of a newer version.
    func refuseStranger(_ database: Database) throws {
        guard try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") != 0 else { return }
        let known = file.kind.migrator.migrations
        let applied =
            try database.tableExists("grdb_migrations")
            ? String.fetchAll(database, sql: "SELECT identifier FROM grdb_migrations ORDER BY rowid") : []
        guard applied.contains(where: known.contains) else { throw file.fault(.foreign) }
        if let unknown = applied.first(where: { !known.contains($0) }) { throw file.fault(.newer(unknown)) }
    }
}

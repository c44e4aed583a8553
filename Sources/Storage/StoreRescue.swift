import GRDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Saves what can be read of a damaged database into a new one, which can then take its place. The damaged one stays as it is.
package struct StoreRescue: Sendable {
    /// What became of a table.
    package struct Table: Sendable, Hashable {
        package let name: String
        /// How many rows were saved.
        package let rows: Int
        /// Whether that is all of them, as far as can be told.
        package let isWhole: Bool
    }

    private let file: StoreFile

    package init(_ file: StoreFile) {
        self.file = file
    }

    /// Writes to the file at `target`, which must not be there yet and will belong to whom the damaged one belongs. Throws a ``StoreFault`` when not even the names of the tables
    /// can be read, or when `target` cannot be written.
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

    /// As far as the damaged one had come; if that cannot be told, the latest.
    private func latestMigration(_ source: Database) throws -> String {
        let known = file.kind.migrator.migrations
        _ = try Int.fetchOne(source, sql: "SELECT count(*) FROM sqlite_schema")
        let applied = (try? String.fetchSet(source, sql: "SELECT identifier FROM grdb_migrations")) ?? []
        if let unknown = applied.first(where: { !known.contains($0) }) { throw file.fault(.newer(unknown)) }
        guard let latest = known.last(where: applied.contains) ?? known.last else { throw file.fault(.foreign) }
        return latest
    }

    private func copy(_ source: Database, _ target: Database) throws -> [Table] {
        let names = try String.fetchAll(
            target,
            sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'grdb_migrations' ORDER BY rowid"
        )
        // What they would do was done.
        let triggers = try Row.fetchAll(target, sql: "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        for trigger in triggers { try target.execute(sql: "DROP TRIGGER \(trigger[0] as String)") }
        for name in names { try target.execute(sql: "DELETE FROM \(name)") }
        let tables = try names.map { try TableRescue($0, in: target).copy(from: source, to: target) }
        for trigger in triggers { try target.execute(sql: trigger[1]) }
        return tables
    }
}

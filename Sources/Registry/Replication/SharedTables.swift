import Foundation
import GRDB
import Storage

/// The shared tables of all members as a file: a new member starts from it instead of reading every change in the log.
extension RegistryStore {
    /// Tables that each member has for itself.
    private static let ownTables: Set<String> = [
        "meta", "watch", "watch_relays", "ingress_devices", "ingress_device_count", "plugin_owners", "plugin_states",
    ]

    /// Writes the shared tables to a new file, readable by this user only, and replaces an existing one. Returns the
    /// position in the shared log. Does not block writers.
    package func writeShared(to file: String) throws -> UInt64 {
        try SharedFile.remove(file)
        // SQLite keeps the permissions of an existing empty file.
        guard FileManager.default.createFile(atPath: file, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw CocoaError(.fileWriteUnknown)
        }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(10)
        let source = try DatabaseQueue(path: path, configuration: configuration)
        try source.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [file]) }
        try source.close()
        let copy = try DatabaseQueue(path: file)
        defer { try? copy.close() }
        return try copy.writeWithoutTransaction { db in
            try db.inTransaction {
                for table in Self.ownTables.sorted() where table != "meta" {
                    try db.execute(sql: "DELETE FROM \(table)")
                }
                try db.execute(sql: "INSERT INTO ingress_device_count VALUES (0)")
                try db.execute(sql: "DELETE FROM meta WHERE name = ?", arguments: [Self.transferName])
                return .commit
            }
            try db.execute(sql: "VACUUM")
            try db.execute(sql: "PRAGMA journal_mode = DELETE")
            guard let position = try RegistryRows(db).sharedPosition() else {
                throw RegistryStoreError.unreadableRecord
            }
            return position
        }
    }

    /// Replaces the shared tables by those of such a file. Must be called before the registry is loaded. Throws a
    /// `StoreError` for a file that is damaged or of an unknown format, and a ``RegistryStoreError`` for a file of
    /// another router.
    func readShared(from file: String) throws {
        // Migrates the file to the current schema, or throws.
        try StoreFile(path: file, kind: Self.kind).open(Configuration()).close()
        try replacing { db in
            try db.execute(sql: "ATTACH DATABASE ? AS shared", arguments: [file])
            defer { try? db.execute(sql: "DETACH DATABASE shared") }
            try db.inTransaction(.immediate) {
                try takeShared(db)
                return .commit
            }
        }
    }

    private func takeShared(_ db: Database) throws {
        let names = "SELECT value FROM %.meta WHERE name = 'identity'"
        let owner = try String.fetchOne(db, sql: names.replacing("%", with: "shared"))
        let own = try String.fetchOne(db, sql: names.replacing("%", with: "main"))
        guard own == nil || own == owner else { throw RegistryStoreError.anotherIdentity(path: path) }
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        let tables = try String.fetchAll(
            db,
            sql: "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).filter { !Self.ownTables.contains($0) && $0 != "grdb_migrations" }
        for table in tables { try db.execute(sql: "DELETE FROM main.\(table)") }
        for table in tables {
            // Generated columns are not written.
            let columns = try String.fetchAll(
                db,
                sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid",
                arguments: [table]
            ).joined(separator: ", ")
            try db.execute(sql: "INSERT INTO main.\(table) (\(columns)) SELECT \(columns) FROM shared.\(table)")
        }
        // Row numbers are never reused, even those of deleted rows.
        let numbered = tables.map { "'\($0)'" }.joined(separator: ", ")
        try db.execute(sql: "DELETE FROM main.sqlite_sequence WHERE name IN (\(numbered))")
        try db.execute(
            sql: """
                INSERT INTO main.sqlite_sequence (name, seq)
                SELECT name, seq FROM shared.sqlite_sequence WHERE name IN (\(numbered))
                """
        )
        // `meta` has the position in the log, and the one-time steps that were done for these rows.
        try db.execute(sql: "INSERT OR REPLACE INTO main.meta (name, value) SELECT name, value FROM shared.meta")
    }
}

/// The temporary snapshot file next to the store.
package enum SharedFile {
    package static func path(besides store: String) -> String { store + "-shared" }

    package static func remove(_ file: String) throws {
        for end in ["", "-journal", "-wal", "-shm"] where FileManager.default.fileExists(atPath: file + end) {
            try FileManager.default.removeItem(atPath: file + end)
        }
    }
}

extension RegistryStore {
    /// Starts from the newest snapshot if this registry is empty or the log no longer has the changes it needs. Must be
    /// called before a registry is made of the store. Blocks.
    package func takeSnapshot(of log: any RegistryLog) throws {
        let known = try read { rows -> UInt64? in try rows.sharedPosition() }
        if let known, known > 0, try log.lastPosition() < known { throw RegistryStoreError.ahead(of: known) }
        guard let newest = try log.snapshotPosition() else { return }
        if known == nil, try read({ rows in try rows.isUsed() }) { throw RegistryStoreError.ofSingleRouter(path: path) }
        let position = known ?? 0
        guard position < newest, try position == 0 || isCutOff(log, at: position) else { return }
        let file = SharedFile.path(besides: path)
        try SharedFile.remove(file)
        defer { try? SharedFile.remove(file) }
        guard try log.readSnapshot(to: file) else { return }
        try readShared(from: file)
    }

    /// Whether the log no longer has all changes after `position`.
    private func isCutOff(_ log: any RegistryLog, at position: UInt64) throws -> Bool {
        var last = position
        for (next, bytes) in try log.records(after: position) {
            defer { last = next }
            // Skips entries that no member wrote and repeated entries.
            guard let record = try bytes.map(RegistryRecord.init), record.after >= last else { continue }
            return record.after != last
        }
        return true
    }
}

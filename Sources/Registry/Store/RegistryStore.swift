import Foundation
import GRDB

/// The registry on disk: one SQLite database.
///
/// Every transaction is on the disk when it returns. Opening throws a ``RegistryStoreError`` for a damaged database and
/// for one that a newer version wrote, and changes neither.
package final class RegistryStore: Sendable {
    package let path: String
    private let pool: DatabasePool

    /// Opens or creates the database at `path`, readable by this user only.
    package init(path: String) throws {
        self.path = path
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        pool = try Self.naming(path) {
            var configuration = Configuration()
            configuration.busyMode = .timeout(10)
            configuration.label = "carillon registry"
            let pool = try DatabasePool(path: path, configuration: configuration)
            try Self.demandDurability(of: pool, path: path)
            try Self.migrate(pool, path: path)
            return pool
        }
    }

    /// Switching a pool to WAL sets `synchronous` back to NORMAL, which loses commits when the power fails; so this
    /// comes after opening, and what the database says is read back.
    private static func demandDurability(of pool: DatabasePool, path: String) throws {
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2,
                try String.fetchOne(db, sql: "PRAGMA journal_mode") == "wal"
            else { throw RegistryStoreError.notDurable(path: path) }
        }
    }

    private static func migrate(_ pool: DatabasePool, path: String) throws {
        let migrator = RegistrySchema.migrator
        guard try !pool.read(migrator.hasBeenSuperseded) else { throw RegistryStoreError.newerSchema(path: path) }
        try migrator.migrate(pool)
    }

    /// Runs `body` in one transaction, and `afterwards` once it is on disk and before any other write.
    package func write<Value>(
        _ body: (RegistryRows) throws -> Value,
        afterwards: (Value) -> Void = { _ in }
    ) throws -> Value {
        try Self.naming(path) {
            try pool.writeWithoutTransaction { db in
                var value: Value?
                try db.inTransaction(.immediate) {
                    value = try body(RegistryRows(db))
                    return .commit
                }
                guard let value else { throw RegistryStoreError.notDurable(path: path) }
                afterwards(value)
                return value
            }
        }
    }

    /// Runs `body` beside writers, on one consistent state.
    package func read<Value>(_ body: (RegistryRows) throws -> Value) throws -> Value {
        try Self.naming(path) { try pool.read { try body(RegistryRows($0)) } }
    }

    /// Runs one statement beside writers. Cheaper than ``read(_:)``, and not for more than one.
    func readOnce<Value>(_ body: (RegistryRows) throws -> Value) throws -> Value {
        try Self.naming(path) { try pool.unsafeRead { try body(RegistryRows($0)) } }
    }

    private static func naming<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw RegistryStoreError(error, path: path)
        }
    }
}

import Foundation
import GRDB
import Nostr
import Push

/// The registry's rows within one access to its database. Statements are prepared once per connection.
package struct RegistryRows {
    let db: Database
    /// Nil: writes are not replicated.
    let recorder: RegistryRecorder?

    init(_ db: Database, _ recorder: RegistryRecorder? = nil) {
        self.db = db
        self.recorder = recorder
    }

    func execute(_ sql: String, _ arguments: RowArguments = []) throws {
        try statement(sql, arguments).execute(arguments: arguments.statementArguments)
    }

    func one(_ sql: String, _ arguments: RowArguments = []) throws -> Row? {
        try Row.fetchOne(statement(sql, arguments), arguments: arguments.statementArguments)
    }

    func all(_ sql: String, _ arguments: RowArguments = []) throws -> [Row] {
        try Row.fetchAll(statement(sql, arguments), arguments: arguments.statementArguments)
    }

    private func statement(_ sql: String, _ arguments: RowArguments) throws -> Statement {
        let statement = try db.cachedStatement(sql: sql)
        recorder?.note(statement, sql, arguments)
        return statement
    }

    /// Returns the owner of this registry, which is `key` if it had none.
    func claim(for key: String) throws -> String {
        try execute("INSERT OR IGNORE INTO meta (name, value) VALUES ('identity', ?)", [key])
        return try owner()
    }

    /// The owner of this registry; empty if it has none.
    func owner() throws -> String { try one("SELECT value FROM meta WHERE name = 'identity'")?[0] ?? "" }

    /// The mark in the columns `created_at` and `event_id`.
    func mark(_ row: Row) throws -> SlotMark {
        SlotMark(createdAt: row["created_at"], id: EventID(try bytes(row, "event_id")))
    }

    func key(_ row: Row, _ column: String) throws -> PublicKey {
        PublicKey(try bytes(row, column))
    }

    private func bytes(_ row: Row, _ column: String) throws -> Bytes32 {
        try row.withUnsafeData(named: column, Self.key)
    }

    /// The key or id in a column. Its position is faster than its name.
    func bytes(_ row: Row, at column: Int) throws -> Bytes32 {
        try row.withUnsafeData(atIndex: column, Self.key)
    }

    private static func key(_ data: Data?) throws -> Bytes32 {
        try (data ?? Data()).withUnsafeBytes { try bytes($0) }
    }

    /// The key or id of these bytes.
    static func bytes(_ column: UnsafeRawBufferPointer) throws -> Bytes32 {
        guard column.count == 32 else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
        return Bytes32(loading: column)
    }
}

extension Bytes32 {
    /// Reads the 32 bytes at `source`. Used for the million rows at startup.
    init(loading source: UnsafeRawBufferPointer) {
        precondition(source.count == 32, "a key or an id has 32 bytes")
        self.init(
            words: (
                source.loadUnaligned(as: UInt64.self),
                source.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
                source.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
                source.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
            )
        )
    }

    /// The bytes as the database stores them.
    var data: Data { withUnsafeBytes { Data($0) } }
}

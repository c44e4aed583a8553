import Foundation
import GRDB

/// A database file whose loss is harmless: a damaged one, or one of another version, is recreated.
package struct RenewableFile: Sendable {
    /// The state of the file.
    package enum State: Sendable {
        case ready
        /// No file, or one without tables.
        case empty
        /// Written by another version of Carillon.
        case outdated
        /// A file of another program.
        case foreign
    }

    package let path: String
    private let applicationID: Int32
    private let version: Int32
    private let tables: String

    /// - Parameters:
    ///   - path: The file's path.
    ///   - applicationID: SQLite's application id in the file, which shows that the file may be recreated.
    ///   - version: The version of its tables.
    ///   - tables: The statements that create the tables.
    package init(path: String, applicationID: Int32, version: Int32, tables: String) {
        _ = SQLiteMemory.isUncounted
        self.path = path
        self.applicationID = applicationID
        self.version = version
        self.tables = tables
    }

    package var exists: Bool { FileManager.default.fileExists(atPath: path) }

    /// Creates an empty file that only this user can read, unless there is one.
    package func touch() {
        guard !exists else { return }
        _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
    }

    package func state(of db: Database) throws -> State {
        if try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 { return .empty }
        guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == applicationID else { return .foreign }
        return try Int32.fetchOne(db, sql: "PRAGMA user_version") == version ? .ready : .outdated
    }

    package func makeTables(in db: Database) throws {
        try db.execute(sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version);" + tables)
    }

    /// Renames a damaged file by appending `.damaged`, replacing an earlier one there.
    package func moveDamaged() {
        removeDamaged()
        try? FileManager.default.moveItem(atPath: path, toPath: path + ".damaged")
        remove()
    }

    package func removeDamaged() {
        try? FileManager.default.removeItem(atPath: path + ".damaged")
    }

    package func remove() {
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    }
}

extension DatabaseError {
    /// Whether the file itself is damaged, so that a retry is useless.
    package var isDamage: Bool { resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB }
}

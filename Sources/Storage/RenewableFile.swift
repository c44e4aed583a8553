import Foundation
import GRDB

/// A database file that nobody misses for long: what is damaged or of another version is begun anew.
package struct RenewableFile: Sendable {
    /// What is at its place.
    package enum State: Sendable {
        case ready
        /// Nothing, or a file without tables.
        case empty
        /// Written by another version of Carillon.
        case outdated
        /// Another program's.
        case foreign
    }

    package let path: String
    private let applicationID: Int32
    private let version: Int32
    private let tables: String

    /// - Parameters:
    ///   - path: Where it is.
    ///   - applicationID: SQLite's mark in the file, by which it is known for one that may be begun anew.
    ///   - version: Of its tables; another one is another file.
    ///   - tables: The statements that make them.
    package init(path: String, applicationID: Int32, version: Int32, tables: String) {
        self.path = path
        self.applicationID = applicationID
        self.version = version
        self.tables = tables
    }

    package var exists: Bool { FileManager.default.fileExists(atPath: path) }

    /// Makes an empty file, readable by this user only, where there is none.
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

    /// Moves a damaged one to the same name with `.damaged` behind it, in place of an earlier one.
    package func putAside() {
        removePutAside()
        try? FileManager.default.moveItem(atPath: path, toPath: path + ".damaged")
        remove()
    }

    package func removePutAside() {
        try? FileManager.default.removeItem(atPath: path + ".damaged")
    }

    package func remove() {
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    }
}

extension DatabaseError {
    /// Whether the file itself is at fault, so that trying again is of no use.
    package var isDamage: Bool { resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB }
}

import GRDB

/// The tables of a ``ContextStore``. Row ids grow with time, for a row that is replaced gets a new one: so the oldest are
/// found without an index.
enum ContextSchema {
    /// "Crln" and what it is: marks the file as one that may be begun anew.
    private static let applicationID: Int32 = 0x4372_6C01
    private static let version: Int32 = 1

    enum State {
        case ready
        case empty
        /// Written by another version of Carillon.
        case outdated
        /// Another program's.
        case foreign
    }

    static func state(of db: Database) throws -> State {
        if try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 { return .empty }
        guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == applicationID else { return .foreign }
        return try Int32.fetchOne(db, sql: "PRAGMA user_version") == version ? .ready : .outdated
    }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                PRAGMA application_id = \(applicationID);
                PRAGMA user_version = \(version);
                CREATE TABLE profiles (
                    row INTEGER PRIMARY KEY,
                    author BLOB NOT NULL UNIQUE,
                    name BLOB,
                    created_at INTEGER NOT NULL,
                    learned_at INTEGER NOT NULL
                );
                CREATE TABLE notes (
                    row INTEGER PRIMARY KEY,
                    id BLOB NOT NULL UNIQUE,
                    author BLOB NOT NULL,
                    root BLOB,
                    kind INTEGER NOT NULL,
                    content BLOB NOT NULL,
                    learned_at INTEGER NOT NULL
                );
                """
        )
    }
}

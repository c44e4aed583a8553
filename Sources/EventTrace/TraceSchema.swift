import GRDB

/// The tables of a trace: one list of segments, a table for each, and how pushes to each device went.
enum TraceSchema {
    /// "Crln" and what it is: marks the file as one that may be begun anew.
    private static let applicationID: Int32 = 0x4372_6C02
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
                CREATE TABLE segments (number INTEGER PRIMARY KEY, began_at INTEGER NOT NULL) STRICT;
                CREATE TABLE devices (
                    device INTEGER PRIMARY KEY,
                    changed_at INTEGER NOT NULL,
                    delivered_at INTEGER,
                    delivered_status INTEGER,
                    failed_at INTEGER,
                    failed_kind TEXT,
                    failed_status INTEGER,
                    failed_reason TEXT
                ) STRICT;
                """
        )
    }

    /// Steps are found by their event, reports by their delivery.
    static func begin(_ segment: TraceSegments.Segment, in db: Database) throws {
        let number = segment.number
        try db.execute(
            sql: """
                CREATE TABLE entries_\(number) (
                    row INTEGER PRIMARY KEY,
                    time INTEGER NOT NULL,
                    event BLOB,
                    account BLOB,
                    device INTEGER,
                    delivery BLOB,
                    word TEXT NOT NULL,
                    reason TEXT NOT NULL,
                    platform TEXT,
                    app TEXT,
                    status INTEGER,
                    attempt INTEGER,
                    next_due INTEGER
                ) STRICT;
                CREATE INDEX events_\(number) ON entries_\(number) (event) WHERE event IS NOT NULL;
                CREATE INDEX reports_\(number) ON entries_\(number) (delivery) WHERE event IS NULL;
                INSERT INTO segments (number, began_at) VALUES (\(number), \(segment.beganAt));
                """
        )
    }

    static func drop(_ number: Int64, in db: Database) throws {
        try db.execute(
            sql: "DROP TABLE IF EXISTS entries_\(number); DELETE FROM segments WHERE number = \(number)"
        )
    }

    /// Rows are numbered from 1 on without a gap, so that nothing is counted.
    static func segments(in db: Database) throws -> [TraceSegments.Segment] {
        try Row.fetchAll(db, sql: "SELECT number, began_at FROM segments ORDER BY number").map { row in
            let number: Int64 = row[0]
            let rows = try Int.fetchOne(db, sql: "SELECT max(row) FROM entries_\(number)") ?? 0
            return TraceSegments.Segment(number: number, beganAt: row[1], rows: rows)
        }
    }
}

import GRDB
import Nostr
import Storage
import Units

/// The tables of a trace: one list of segments, a table for each, how pushes to each device went, and which queues are
/// paused.
enum TraceSchema {
    /// How many pages of 4 KiB the log may have before a commit copies them back: each copy writes most of the index
    /// again. Not larger pages: the statuses of a million devices lie in as many places, and each touches a page.
    static let pagesBetweenCheckpoints = 4_000
    /// In bytes; what the log exceeds it by goes.
    static let largestLog = 32 << 20

    /// Where a trace is, by which it is known for one.
    static func file(at path: String) -> RenewableFile {
        RenewableFile(
            path: path,
            // "Crln" and what it is.
            applicationID: 0x4372_6C02,
            version: 5,
            tables: """
                CREATE TABLE segments (
                    number INTEGER PRIMARY KEY,
                    began_at INTEGER NOT NULL,
                    is_of_crowd INTEGER NOT NULL
                ) STRICT;
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
                CREATE TABLE pauses (
                    platform TEXT NOT NULL,
                    app TEXT NOT NULL,
                    since INTEGER NOT NULL,
                    until INTEGER NOT NULL,
                    cause TEXT NOT NULL,
                    reason TEXT NOT NULL
                ) STRICT;
                """
        )
    }

    /// Each row has some entries (``PackedEntries``): those of an event are found by it, reports of other deliveries by
    /// these. `row` is the number of the first entry; the entries' numbers rise through all segments, in the order in
    /// which things happened.
    ///
    /// The index has the first eight bytes of an event (``head(of:)``), which are a third of its pages and compared as
    /// one number.
    static func begin(_ segment: TraceSegments.Segment, in db: Database) throws {
        let number = segment.number
        try db.execute(
            sql: """
                CREATE TABLE entries_\(number) (
                    row INTEGER PRIMARY KEY,
                    head INTEGER,
                    event BLOB,
                    delivery BLOB,
                    count INTEGER NOT NULL,
                    entries BLOB NOT NULL
                ) STRICT;
                CREATE INDEX events_\(number) ON entries_\(number) (head) WHERE head IS NOT NULL;
                CREATE INDEX reports_\(number) ON entries_\(number) (delivery) WHERE delivery IS NOT NULL;
                INSERT INTO segments (number, began_at, is_of_crowd)
                    VALUES (\(number), \(segment.beganAt.milliseconds), \(segment.isOfCrowd ? 1 : 0));
                """
        )
    }

    /// What an event is found by.
    static func head(of event: EventID) -> Int64 { Int64(bitPattern: UInt64(littleEndian: event.bytes.words.0)) }

    static func drop(_ number: Int64, in db: Database) throws {
        try db.execute(
            sql: "DROP TABLE IF EXISTS entries_\(number); DELETE FROM segments WHERE number = \(number)"
        )
    }

    static func segments(in db: Database) throws -> [TraceSegments.Segment] {
        try Row.fetchAll(db, sql: "SELECT number, began_at, is_of_crowd FROM segments ORDER BY number").map { row in
            let number: Int64 = row[0]
            let rows = try Int.fetchOne(db, sql: "SELECT sum(count) FROM entries_\(number)") ?? 0
            return TraceSegments.Segment(number: number, beganAt: row[1], rows: rows, isOfCrowd: row[2])
        }
    }

    /// A number that no entry is above. The last row may have entries from all over the last write, and that had no
    /// more than there are.
    static func lastNumber(in db: Database, _ segments: [TraceSegments.Segment]) throws -> Int64 {
        let last = try segments.reduce(0) { last, segment in
            max(last, try Int64.fetchOne(db, sql: "SELECT max(row) FROM entries_\(segment.number)") ?? 0)
        }
        return last + segments.reduce(0) { $0 + Int64($1.rows) }
    }
}

extension RenewableFile {
    /// Whether another program's database is at its place. Changes nothing; what is damaged passes for ours.
    var isForeign: Bool {
        get throws {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(1)
            do {
                let queue = try DatabaseQueue(path: path, configuration: configuration)
                defer { try? queue.close() }
                return try queue.read(state) == .foreign
            } catch let error as DatabaseError where error.isDamage {
                return false
            }
        }
    }
}

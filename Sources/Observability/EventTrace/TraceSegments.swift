import Core
import GRDB
import Nostr
import Storage

/// Decides which table the next entries go to, and which tables have expired. A trace has about ten tables, so that old
/// entries are dropped a table at a time, without a search. Pure.
///
/// Entries of an owner beyond a limit go to separate tables, "the crowd's". If there are too many entries, the larger
/// of the two parts shrinks, so that a few owners cannot push out all others.
struct TraceSegments: Equatable {
    struct Segment: Equatable {
        let number: Int64
        let beganAt: Timestamp
        var rows: Int
        /// Whether it takes the excess entries of owners with many.
        var isOfCrowd = false
    }

    /// The oldest tenth is dropped at a time, so that up to a tenth less than the limits is kept.
    private static let count = 10
    /// Stray entries, which strangers cause at will, get at most one of this many rows of a segment, so that they do
    /// not push out the rest.
    private static let strayShare = 10
    /// An owner gets at most one of this many rows of a segment; their other entries go to the crowd.
    private static let ownerShare = 20

    private let limits: TraceLimits
    /// In creation order. The last one of each kind is written to.
    private(set) var segments: [Segment]
    /// The number of stray entries in the last segment that is not the crowd's, since the start.
    private var strays = 0
    /// The number of entries there by owner.
    private var entries: [TraceEntry.Owner: Int] = [:]

    init(_ segments: [Segment] = [], limits: TraceLimits) {
        self.segments = segments
        self.limits = limits
    }

    private var segmentRows: Int { max(1, limits.rows / Self.count) }

    private var segmentAge: Duration { max(.milliseconds(1), limits.age / Self.count) }

    /// Makes space for `count` entries, or a whole segment, at `now`. Returns the segment that takes them, how many it
    /// takes, whether it must be created, and the segments to drop.
    mutating func makeSpace(
        for count: Int = .max,
        ofCrowd: Bool = false,
        at now: Timestamp
    ) -> (segment: Segment, room: Int, begins: Bool, dropped: [Int64]) {
        var last = segments.last { $0.isOfCrowd == ofCrowd }
        let begins = last.map { isFull($0, at: now) } ?? true
        if begins {
            // Entries admitted before any segment existed are in the first one.
            if last != nil, !ofCrowd { forgetOwners() }
            last = Segment(number: (segments.last?.number ?? 0) + 1, beganAt: now, rows: 0, isOfCrowd: ofCrowd)
            if let last { segments.append(last) }
        }
        let segment = last ?? Segment(number: 0, beganAt: now, rows: 0)
        let room = segmentRows - segment.rows
        return (segment, room, begins, dropOld(at: now, for: min(count, room)))
    }

    /// Removes segments that have expired by `now`, including the last ones. Returns their numbers.
    mutating func expire(at now: Timestamp) -> [Int64] {
        let expired = segments.filter { now - $0.beganAt >= limits.age }.map(\.number)
        segments.removeAll { expired.contains($0.number) }
        if segments.isEmpty { forgetOwners() }
        return expired
    }

    /// Whether there is space for one more stray entry.
    mutating func admitsStray() -> Bool {
        guard strays < max(1, segmentRows / Self.strayShare) else { return false }
        strays += 1
        return true
    }

    /// Whether one more entry of `owner` goes to the crowd.
    mutating func belongsToCrowd(_ owner: TraceEntry.Owner) -> Bool {
        let most = max(1, segmentRows / Self.ownerShare)
        return Self.isAtLimit(&entries[owner, default: 0], most)
    }

    /// Counts one more unless there are `most` already.
    private static func isAtLimit(_ count: inout Int, _ most: Int) -> Bool {
        guard count < most else { return true }
        count += 1
        return false
    }

    /// Adds `rows` written rows to a segment.
    mutating func add(_ rows: Int, to number: Int64) {
        guard let index = segments.firstIndex(where: { $0.number == number }) else { return }
        segments[index].rows += rows
    }

    private mutating func forgetOwners() {
        strays = 0
        entries.removeAll(keepingCapacity: true)
    }

    /// Removes finished segments that are too old, or too many once there are `count` more rows. Returns their numbers.
    private mutating func dropOld(at now: Timestamp, for count: Int) -> [Int64] {
        let current = [false, true].compactMap { kind in segments.last { $0.isOfCrowd == kind } }
        let past = segments.filter { segment in !current.contains { $0.number == segment.number } }
        var kept = past.filter { now - $0.beganAt < limits.age }
        let room = limits.rows - count - current.reduce(0) { $0 + $1.rows }
        // A clock that is repeatedly set back creates many short ones.
        while kept.count > 2 * Self.count || kept.reduce(0, { $0 + $1.rows }) > room {
            let crowd = kept.reduce(0) { $0 + ($1.isOfCrowd ? $1.rows : 0) }
            let rest = kept.reduce(0) { $0 + ($1.isOfCrowd ? 0 : $1.rows) }
            kept.remove(at: kept.firstIndex { $0.isOfCrowd == (crowd >= rest) } ?? 0)
        }
        let dropped = past.map(\.number).filter { number in !kept.contains { $0.number == number } }
        segments.removeAll { dropped.contains($0.number) }
        return dropped
    }

    /// A clock that was set back also starts a new segment; the old one would otherwise last until time has caught up.
    private func isFull(_ segment: Segment, at now: Timestamp) -> Bool {
        segment.rows >= segmentRows || now - segment.beganAt >= segmentAge || now < segment.beganAt
    }
}

/// The limits of a trace.
package struct TraceLimits: Sendable, Hashable {
    package static let rowRange = 1_000...100_000_000
    package static let dayRange = 1...365
    /// In hours.
    package static let keptEventsRange = 0...168

    /// The maximum of entries; the oldest tenth is dropped for newer ones.
    package var rows: Int
    /// The maximum age of an entry.
    package var days: Int
    /// How long whole events are kept for `carillon rules diff`; nil: not at all.
    package var keptEvents: Duration?

    package init(rows: Int = 500_000, days: Int = 7, keptEvents: Duration? = nil) {
        self.rows = rows
        self.days = days
        self.keptEvents = keptEvents
    }

    package var age: Duration { .days(days) }
}

/// The tables of a trace: a list of segments, a table for each, the status of each device, and the paused queues.
enum TraceSchema {
    /// The WAL's pages of 4 KiB before a commit copies them back: each copy rewrites most of the index. Larger pages
    /// would not help: the statuses of a million devices are spread out, and each touches a page.
    static let pagesBetweenCheckpoints = 4_000
    /// In bytes; a larger WAL is truncated.
    static let largestLog = 32 << 20

    /// The file of a trace, with its application ID.
    static func file(at path: String) -> RenewableFile {
        RenewableFile(
            path: path,
            // "Crln" and the kind of file.
            applicationID: 0x4372_6C02,
            version: 1,
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

    /// A row has several entries (``PackedEntries``): an event's are found by event, reports of other deliveries by
    /// delivery. `row` is the number of the first entry; numbers rise through all segments in time order.
    ///
    /// The index has the first eight bytes of an event (``head(of:)``): a third of the pages, compared as one number.
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

    /// The index key of an event.
    static func head(of event: EventID) -> Int64 { Int64(bitPattern: UInt64(littleEndian: event.bytes.words.0)) }

    static func drop(_ number: Int64, in db: Database) throws {
        try db.execute(sql: "DROP TABLE IF EXISTS entries_\(number); DELETE FROM segments WHERE number = \(number)")
    }

    static func segments(in db: Database) throws -> [TraceSegments.Segment] {
        try Row.fetchAll(db, sql: "SELECT number, began_at, is_of_crowd FROM segments ORDER BY number").map { row in
            let number: Int64 = row[0]
            let rows = try Int.fetchOne(db, sql: "SELECT sum(count) FROM entries_\(number)") ?? 0
            return TraceSegments.Segment(number: number, beganAt: row[1], rows: rows, isOfCrowd: row[2])
        }
    }

    /// An upper bound of all entry numbers. The last row may span the last write, which had no more entries than exist.
    static func lastNumber(in db: Database, _ segments: [TraceSegments.Segment]) throws -> Int64 {
        let last = try segments.reduce(0) { last, segment in
            max(last, try Int64.fetchOne(db, sql: "SELECT max(row) FROM entries_\(segment.number)") ?? 0)
        }
        return last + segments.reduce(0) { $0 + Int64($1.rows) }
    }
}

extension RenewableFile {
    /// Reads the file without changing it; nil if it has no tables. Throws a ``TraceError`` for a file of another
    /// version or program.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value? {
        try opened(timeout: 5) { db in
            switch try state(of: db) {
            case .empty: nil
            case .outdated: throw TraceError.otherVersion(path)
            case .foreign: throw TraceError.foreign(path)
            case .ready: try body(db)
            }
        }
    }

    private func opened<Value>(timeout: Double, _ body: (Database) throws -> Value) throws -> Value {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(timeout)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read(body)
    }

    /// Whether it is another program's database. Changes nothing; a damaged file counts as ours.
    var isForeign: Bool {
        get throws {
            do {
                return try opened(timeout: 1) { try state(of: $0) == .foreign }
            } catch let error as DatabaseError where error.isDamage {
                return false
            }
        }
    }
}

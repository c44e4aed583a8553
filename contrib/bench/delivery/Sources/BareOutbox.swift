import Core
import Delivery
import GRDBSQLite
import Glibc
import Push

/// The same rows written with SQLite's own calls: the limit of the disk and the database.
struct BareOutbox {
    struct Failure: Error {
        let result: Int32
    }

    private let database: OpaquePointer

    init(path: String) throws {
        var database: OpaquePointer?
        let result = sqlite3_open(path, &database)
        guard result == SQLITE_OK, let database else { throw Failure(result: result) }
        self.database = database
        try execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE delivery (
                number INTEGER PRIMARY KEY, queue INTEGER, id TEXT, device INTEGER, accepted INTEGER,
                attempts INTEGER DEFAULT 0, due INTEGER, notification BLOB);
            CREATE INDEX retry ON delivery (queue, due) WHERE due IS NOT NULL;
            """
        )
    }

    /// Insertions, and the removal of each group after it.
    func rate(of groups: [[Delivery]]) throws -> Double {
        let insert = try prepare(
            "INSERT INTO delivery (number, queue, id, device, accepted, notification) VALUES (?,?,?,?,?,?)"
        )
        let delete = try prepare("DELETE FROM delivery WHERE number = ?")
        defer {
            sqlite3_finalize(insert)
            sqlite3_finalize(delete)
            sqlite3_close(database)
        }
        let blob = groups[0][0].notification.blob
        var number: Int64 = 0
        return try Stopwatch.rate(of: groups.reduce(0) { $0 + $1.count }) {
            for group in groups {
                let first = number
                try execute("BEGIN")
                for delivery in group {
                    number += 1
                    try insertRow(insert, number, delivery, blob)
                }
                try execute("COMMIT; BEGIN")
                for old in first + 1...number {
                    sqlite3_bind_int64(delete, 1, old)
                    try finish(delete)
                }
                try execute("COMMIT")
            }
        }
    }

    private func insertRow(_ insert: OpaquePointer, _ number: Int64, _ delivery: Delivery, _ blob: [UInt8]) throws {
        sqlite3_bind_int64(insert, 1, number)
        sqlite3_bind_int64(insert, 2, 1)
        sqlite3_bind_int64(insert, 4, delivery.device.rawValue)
        sqlite3_bind_int64(insert, 5, delivery.acceptedAt.milliseconds)
        try delivery.id.withText { id in
            let text = id.assumingMemoryBound(to: CChar.self)
            sqlite3_bind_text(insert, 3, text.baseAddress, Int32(text.count), nil)
            try blob.withUnsafeBytes { blob in
                sqlite3_bind_blob(insert, 6, blob.baseAddress, Int32(blob.count), nil)
                try finish(insert)
            }
        }
    }

    private func prepare(_ sql: String) throws -> OpaquePointer {
        var statement: OpaquePointer?
        let result = sqlite3_prepare_v2(database, sql, -1, &statement, nil)
        guard result == SQLITE_OK, let statement else { throw Failure(result: result) }
        return statement
    }

    private func finish(_ statement: OpaquePointer) throws {
        let result = sqlite3_step(statement)
        guard result == SQLITE_DONE else { throw Failure(result: result) }
        sqlite3_reset(statement)
    }

    private func execute(_ sql: String) throws {
        let result = sqlite3_exec(database, sql, nil, nil, nil)
        guard result == SQLITE_OK else { throw Failure(result: result) }
    }
}

/// Time on the wall: disks and other threads count.
enum Stopwatch {
    /// Returns the rate per second if `body` does `count` steps.
    static func rate(of count: Int, _ body: () throws -> Void) rethrows -> Double {
        Double(count) / seconds(try ContinuousClock().measure(body))
    }

    /// Microseconds of processor that this process has used, on all its threads.
    static var processor: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) * 1e6 + Double($1.tv_usec) }
    }

    static func seconds(_ duration: Duration) -> Double { duration / .seconds(1) }
}

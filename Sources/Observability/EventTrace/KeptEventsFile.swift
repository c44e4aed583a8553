import Core
import Foundation
import GRDB
import Nostr
import Storage

/// The database file of ``KeptEvents``.
struct KeptEventsFile {
    private let queue: DatabaseQueue
    /// The total size of its events.
    private var bytes: Int

    static func renewable(_ path: String) -> RenewableFile {
        RenewableFile(
            path: path,
            // "Crln" and the kind of file.
            applicationID: 0x4372_6C03,
            version: 1,
            tables: """
                CREATE TABLE events (
                    row INTEGER PRIMARY KEY,
                    id BLOB NOT NULL UNIQUE,
                    author BLOB NOT NULL,
                    kind INTEGER NOT NULL,
                    created_at INTEGER NOT NULL,
                    time INTEGER NOT NULL,
                    expires_at INTEGER,
                    accounts BLOB NOT NULL,
                    event BLOB NOT NULL
                ) STRICT;
                CREATE INDEX events_of_authors ON events (author);
                """
        )
    }

    /// Opens or creates the file, readable only by this user. Throws a ``TraceError`` for another program's database,
    /// and SQLite's errors.
    init(_ path: String) throws {
        let file = Self.renewable(path)
        file.touch()
        var configuration = Configuration()
        configuration.busyMode = .timeout(1)
        configuration.label = "carillon kept events"
        // The bytes of deleted events must not stay in the file.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA secure_delete = ON") }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        switch try queue.read(file.state) {
        case .foreign: throw TraceError.foreign(path)
        case .ready: break
        case .outdated:
            try queue.close()
            file.remove()
            self = try KeptEventsFile(path)
            return
        case .empty: try queue.write(file.makeTables)
        }
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304"
            )
        }
        bytes = try queue.read { try Int.fetchOne($0, sql: "SELECT sum(length(event)) FROM events") ?? 0 }
        self.queue = queue
    }

    /// Adds events. Removes deleted ones, those older than `keptSince` or expired (NIP-40), and the oldest ones beyond
    /// `limit` bytes.
    mutating func write(
        _ events: [KeptEvent],
        _ withdrawn: [Deletion],
        keptSince: Timestamp,
        atMost limit: Int,
        at now: Timestamp
    ) throws {
        let before = bytes
        bytes = try queue.write { db in
            var bytes = before
            for event in events { bytes += try Self.insert(event, in: db) }
            for deletion in withdrawn { bytes -= try Self.forget(deletion, in: db) }
            bytes -= try Self.forget("time < ? OR expires_at <= ?", [keptSince, now.seconds], in: db)
            while bytes > limit {
                let oldest = "row IN (SELECT row FROM events ORDER BY row LIMIT 100)"
                let freed = try Self.forget(oldest, [], in: db)
                guard freed > 0 else { break }
                bytes -= freed
            }
            return bytes
        }
    }

    func close() { try? queue.close() }

    /// Returns the number of bytes added: 0 if the event is already stored. An event for accounts of several partitions
    /// comes once for each partition; its accounts are merged.
    private static func insert(_ kept: KeptEvent, in db: Database) throws -> Int {
        let event = kept.event
        let json = Data(event.json)
        let insert = try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO events (id, author, kind, created_at, time, expires_at, accounts, event)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """
        )
        try insert.execute(
            arguments: [
                Data(event.id.array), Data(event.pubkey.array), Int64(event.kind.rawValue), event.createdAt, kept.time,
                event.expiration, Data(kept.accounts.flatMap(\.array)), json,
            ]
        )
        guard db.changesCount == 0 else { return json.count }
        let id = Data(event.id.array)
        let known = try Data.fetchOne(db, sql: "SELECT accounts FROM events WHERE id = ?", arguments: [id])
        let accounts = Self.accounts(known ?? Data())
        let new = kept.accounts.filter { !accounts.contains($0) }
        if !new.isEmpty {
            try db.execute(
                sql: "UPDATE events SET accounts = ? WHERE id = ?",
                arguments: [Data((accounts + new).flatMap(\.array)), id]
            )
        }
        return 0
    }

    fileprivate static func accounts(_ keys: Data) -> [PublicKey] {
        let keys = Array(keys)
        return stride(from: 0, to: keys.count, by: 32).compactMap {
            PublicKey(bytes: Array(keys[$0..<min($0 + 32, keys.count)]))
        }
    }

    /// Returns the number of bytes freed.
    private static func forget(_ deletion: Deletion, in db: Database) throws -> Int {
        let author = Data(deletion.author.array)
        switch deletion.scope {
        case .everything:
            return try forget("author = ? AND created_at <= ?", [author, deletion.createdAt], in: db)
        case .events(let ids, let addresses):
            var freed = 0
            for id in ids { freed += try forget("id = ? AND author = ?", [Data(id.array), author], in: db) }
            // An address has one of a few kinds.
            for kind in Set(addresses.map(\.kind)) {
                let rows = try Row.fetchAll(
                    db,
                    sql: "SELECT row, event FROM events WHERE author = ? AND kind = ? AND created_at <= ?",
                    arguments: [author, Int64(kind.rawValue), deletion.createdAt]
                )
                for row in rows {
                    guard let event = try? Event(json: Array(row["event"] as Data)), addresses.contains(event.address)
                    else { continue }
                    freed += try forget("row = ?", [row["row"] as Int64], in: db)
                }
            }
            return freed
        }
    }

    private static func forget(_ condition: String, _ arguments: StatementArguments, in db: Database) throws -> Int {
        let freed =
            try Int.fetchOne(
                db,
                sql: "SELECT sum(length(event)) FROM events WHERE \(condition)",
                arguments: arguments
            ) ?? 0
        if freed > 0 { try db.execute(sql: "DELETE FROM events WHERE \(condition)", arguments: arguments) }
        return freed
    }
}

/// Reads the events of ``KeptEvents``, even while a router writes.
package struct KeptEventsReader: Sendable {
    private let path: String

    package init(path: String) {
        self.path = path
    }

    /// A page of the kept events.
    package struct Page: Sendable {
        /// The newest first.
        package var events: [KeptEvent]
        /// The start of the next page; nil: none.
        package var next: Int64?
    }

    /// The newest events since `time` that have not expired by `now`, up to `limit` events and about `bytes`; `row` is
    /// the end of the previous page. Throws a ``TraceError``.
    package func page(
        since time: Timestamp,
        at now: Timestamp,
        before row: Int64 = .max,
        limit: Int,
        bytes: Int = .max
    ) throws(TraceError) -> Page {
        let file = KeptEventsFile.renewable(path)
        guard file.exists else { return Page(events: []) }
        do {
            let page = try file.read { db in
                let rows = try Row.fetchCursor(
                    db,
                    sql: """
                        SELECT row, time, accounts, event FROM events
                        WHERE row < ? AND time >= ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY row DESC LIMIT ?
                        """,
                    arguments: [row, time, now.seconds, limit]
                )
                var (page, count, size) = (Page(events: []), 0, 0)
                while let row = try rows.next() {
                    page.next = row["row"]
                    count += 1
                    let json = row["event"] as Data
                    size += json.count
                    if let event = try? Event(json: Array(json)) {
                        let accounts = KeptEventsFile.accounts(row["accounts"])
                        page.events.append(KeptEvent(time: row["time"], event: event, accounts: accounts))
                    }
                    if size >= bytes { return page }
                }
                if count < limit { page.next = nil }
                return page
            }
            return page ?? Page(events: [])
        } catch {
            throw TraceError(error, path: path)
        }
    }
}

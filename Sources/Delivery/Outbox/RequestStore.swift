import Core
import Foundation
import GRDB
import Storage

/// A stored API request. It contains no content, only the data to recognise a repeat, and the result.
package struct RequestRecord: Sendable, Hashable {
    /// 16 random bytes.
    package var id: [UInt8]
    /// An anonymous id of the caller, 32 bytes.
    package var sender: [UInt8]
    /// The caller's idempotency key as 32 bytes; nil if there is none.
    package var key: [UInt8]?
    /// A digest of the request, 32 bytes.
    package var body: [UInt8]
    package var createdAt: Timestamp
    /// The ids of the events made from it, 32 bytes each; empty until they are made.
    package var events: [[UInt8]]
    /// The response without id and time, as JSON; nil if there is no response yet.
    package var answer: String?

    package init(
        id: [UInt8],
        sender: [UInt8],
        key: [UInt8]?,
        body: [UInt8],
        createdAt: Timestamp,
        events: [[UInt8]] = [],
        answer: String? = nil
    ) {
        self.id = id
        self.sender = sender
        self.key = key
        self.body = body
        self.createdAt = createdAt
        self.events = events
        self.answer = answer
    }
}

/// The store of recent API requests, in the outbox's file.
package struct RequestStore: Sendable {
    /// The maximum number of stored requests, and how long they are stored.
    private static let limit = 500_000
    package static let lifetime: Duration = .days(1)
    /// The number of rows whose age is checked each time.
    private static let prunedAtATime = 2_000

    private let outbox: Outbox

    package init(_ outbox: Outbox) { self.outbox = outbox }

    /// Stores `requests`, and the events of those that are `done`. Returns the stored record for each of `requests`:
    /// itself, or an earlier one with the same sender and key.
    ///
    /// It reaches the disk with the next flush, which is before any push of these requests is sent.
    package func remember(_ requests: [RequestRecord], done: [RequestRecord] = []) throws -> [RequestRecord] {
        try outbox.writeUnflushed { database in
            for record in done { try Self.note(record, database) }
            let known = try requests.map { try Self.remember($0, database) }
            if let last = requests.last { try Self.prune(at: last.createdAt, database) }
            return known
        }
    }

    /// Returns the request of that sender with that key; nil if there is none.
    package func find(_ sender: [UInt8], key: [UInt8]) throws -> RequestRecord? {
        try outbox.readLatest { database in
            let select = try database.cachedStatement(sql: "SELECT * FROM outbox_request WHERE sender = ? AND key = ?")
            return try Row.fetchOne(select, arguments: [sender.data, key.data]).map(Self.record)
        }
    }

    /// Returns the request with that id; nil if there is none.
    package func find(_ id: [UInt8]) throws -> RequestRecord? {
        try outbox.readLatest { try Self.find(id, $0) }
    }

    static func find(_ id: [UInt8], _ database: Database) throws -> RequestRecord? {
        let select = try database.cachedStatement(sql: "SELECT * FROM outbox_request WHERE id = ?")
        return try Row.fetchOne(select, arguments: [id.data]).map(record)
    }

    private static func remember(_ record: RequestRecord, _ database: Database) throws -> RequestRecord {
        if let key = record.key {
            let select = try database.cachedStatement(
                sql: "SELECT * FROM outbox_request WHERE sender = ? AND key = ? AND created > ?"
            )
            let oldest = record.createdAt - lifetime
            if let row = try Row.fetchOne(select, arguments: [record.sender.data, key.data, oldest]) {
                return self.record(row)
            }
            let delete = try database.cachedStatement(sql: "DELETE FROM outbox_request WHERE sender = ? AND key = ?")
            try delete.execute(arguments: [record.sender.data, key.data])
        }
        let insert = try database.cachedStatement(
            sql: "INSERT INTO outbox_request (id, sender, key, body, created, events) VALUES (?, ?, ?, ?, ?, ?)"
        )
        try insert.execute(
            arguments: [
                record.id.data, record.sender.data, record.key?.data, record.body.data, record.createdAt,
                record.events.joined().data,
            ]
        )
        return record
    }

    private static func note(_ record: RequestRecord, _ database: Database) throws {
        let update = try database.cachedStatement(sql: "UPDATE outbox_request SET events = ?, answer = ? WHERE id = ?")
        try update.execute(arguments: [record.events.joined().data, record.answer, record.id.data])
    }

    /// Deletes old requests. They have the lowest numbers, so usually a look at the first row shows that there are
    /// none.
    private static func prune(at now: Timestamp, _ database: Database) throws {
        let last = try Int64.fetchOne(database, sql: "SELECT max(number) FROM outbox_request") ?? 0
        let select = try database.cachedStatement(
            sql: "SELECT number, created FROM outbox_request ORDER BY number LIMIT ?"
        )
        let rows = try Row.fetchCursor(select, arguments: [prunedAtATime])
        var end: Int64?
        while let row = try rows.next() {
            let (number, created): (Int64, Timestamp) = (row[0], row[1])
            guard created <= now - lifetime || number <= last - Int64(limit) else { break }
            end = number
        }
        guard let end else { return }
        try database.cachedStatement(sql: "DELETE FROM outbox_request WHERE number <= ?").execute(arguments: [end])
    }

    private static func record(_ row: Row) -> RequestRecord {
        let events: Data = row["events"]
        return RequestRecord(
            id: Array(row["id"] as Data),
            sender: Array(row["sender"] as Data),
            key: (row["key"] as Data?).map(Array.init),
            body: Array(row["body"] as Data),
            createdAt: row["created"],
            events: stride(from: 0, to: events.count - 31, by: 32).map { Array(events.dropFirst($0).prefix(32)) },
            answer: row["answer"]
        )
    }
}

extension Sequence<UInt8> {
    fileprivate var data: Data { Data(self) }
}

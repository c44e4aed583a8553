import Core
import GRDB
import Push
import Storage

/// The failure of a delivery's last attempt.
package struct FailedAttempt: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The push service will never accept it, or its plugin crashed on it.
        case rejected
        /// The operator's credentials are invalid, or no plugin serves its queue.
        case misconfigured
        /// A transient error lasted for the whole lifetime of the delivery.
        case retry
    }

    package var kind: Kind
    /// The push service's HTTP status, or 0.
    package var status: UInt32
    /// One word of a small fixed set. Must not contain tokens, keys or content.
    package var reason: String

    package init(_ kind: Kind, status: UInt32 = 0, reason: String) {
        self.kind = kind
        self.status = status
        self.reason = reason
    }
}

/// The limits of dead letters: how many days and rows of permanently failed deliveries are kept.
package struct DeadLetterLimits: Sendable, Hashable {
    package static let rowRange = 0...1_000_000
    package static let dayRange = 0...30

    package var days: Int
    package var rows: Int

    package init(days: Int = 1, rows: Int = 10_000) {
        self.days = days
        self.rows = rows
    }

    /// Whether dead letters are kept.
    package var isOn: Bool { days > 0 && rows > 0 }
}

/// The number of a dead letter, in order of failure. It is never reused.
package struct DeadLetterNumber: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static func < (left: DeadLetterNumber, right: DeadLetterNumber) -> Bool { left.rawValue < right.rawValue }
}

/// Reads and writes the rows of dead letters, within the caller's transaction.
enum DeadLetterRows {
    /// Copies deliveries that will be removed. Deletes the oldest rows beyond `limit`.
    static func addDeadLetters(
        _ newDeadLetters: [OutboxChanges.NewDeadLetter],
        atMost limit: Int,
        _ database: Database
    ) throws {
        guard !newDeadLetters.isEmpty else { return }
        try database.run(
            """
            INSERT INTO outbox_dead_letter
                (id, platform, app, device, accepted, failed, attempts, failure, status, reason, notification)
            SELECT id, platform, app, device, accepted, ?, ?, ?, ?, ?, \(SharedNotificationRows.content)
            FROM outbox_delivery JOIN outbox_queue ON outbox_queue.number = outbox_delivery.queue
            WHERE outbox_delivery.number = ?
            """,
            for: newDeadLetters
        ) { insert, newDeadLetter in
            try insert.bind(newDeadLetter.failedAt.milliseconds, at: 1)
            try insert.bind(Int64(newDeadLetter.attempts), at: 2)
            try insert.bind(newDeadLetter.failure.kind.rawValue, at: 3)
            try insert.bind(Int64(newDeadLetter.failure.status), at: 4)
            try insert.bind(newDeadLetter.failure.reason, at: 5)
            try insert.bind(newDeadLetter.key.rawValue, at: 6)
        }
        let excess = try count(database) - limit
        guard excess > 0 else { return }
        try database.execute(
            sql: """
                DELETE FROM outbox_dead_letter
                WHERE number IN (SELECT number FROM outbox_dead_letter ORDER BY number LIMIT ?)
                """,
            arguments: [excess]
        )
    }

    static func count(_ database: Database) throws -> Int {
        try Int.fetchOne(database.cachedStatement(sql: "SELECT count(*) FROM outbox_dead_letter")) ?? 0
    }

    /// Deletes those that failed before `time`.
    static func prune(before time: Timestamp, _ database: Database) throws {
        try database.execute(sql: "DELETE FROM outbox_dead_letter WHERE failed < ?", arguments: [time.milliseconds])
    }

    static func forget(_ devices: [DeviceID], _ database: Database) throws {
        try database.run("DELETE FROM outbox_dead_letter WHERE device = ?", for: devices) {
            try $0.bind($1.rawValue, at: 1)
        }
    }

    /// The devices that have dead letters.
    static func devices(_ database: Database) throws -> [DeviceID] {
        try Int64.fetchAll(database, sql: "SELECT DISTINCT device FROM outbox_dead_letter").map(DeviceID.init)
    }

    /// Returns the existing and readable ones of `letters`, as deliveries accepted at `now`.
    static func deliveries(_ letters: [DeadLetterNumber], at now: Timestamp, _ database: Database) throws -> [Delivery]
    {
        let select = try RawStatement(
            database,
            "SELECT id, platform, app, device, notification FROM outbox_dead_letter WHERE number = ?"
        )
        defer { select.reset() }
        var deliveries: [Delivery] = []
        for letter in letters {
            try select.bind(letter.rawValue, at: 1)
            if try select.step(), let id = DeliveryID(text: select.bytes(at: 0)),
                let notification = try? Notification(blob: select.bytes(at: 4))
            {
                deliveries.append(
                    Delivery(
                        id: id,
                        device: DeviceID(rawValue: select.integer(at: 3)),
                        platform: select.text(at: 1),
                        app: select.text(at: 2),
                        notification: notification,
                        acceptedAt: now
                    )
                )
            }
            select.reset()
        }
        return deliveries
    }

    /// Returns the ids of the existing and readable ones of `letters`.
    static func ids(_ letters: [DeadLetterNumber], _ database: Database) throws -> [DeliveryID] {
        let select = try RawStatement(database, "SELECT id FROM outbox_dead_letter WHERE number = ?")
        defer { select.reset() }
        var ids: [DeliveryID] = []
        for letter in letters {
            try select.bind(letter.rawValue, at: 1)
            if try select.step(), let id = DeliveryID(text: select.bytes(at: 0)) { ids.append(id) }
            select.reset()
        }
        return ids
    }

    /// Deletes dead letters. Returns how many existed.
    static func remove(_ letters: [DeadLetterNumber], _ database: Database) throws -> Int {
        let before = database.totalChangesCount
        try database.run("DELETE FROM outbox_dead_letter WHERE number = ?", for: letters) {
            try $0.bind($1.rawValue, at: 1)
        }
        return database.totalChangesCount - before
    }
}

import Core
import Foundation
import GRDB
import Push

/// A delivery as operators see it: its location and its attempts. It contains neither content nor the device's address.
package struct QueueEntry: Sendable, Hashable {
    package enum Place: Sendable, Hashable {
        /// In the outbox, without a final outcome.
        case waiting(OutboxKey)
        /// Among the dead letters.
        case failed(DeadLetterNumber, at: Timestamp)
    }

    package var place: Place
    /// The delivery's id; ``DeliveryID/unknown`` if it cannot be read.
    package var id: DeliveryID
    package var device: DeviceID
    package var queue: QueueName
    package var acceptedAt: Timestamp
    /// Attempts that have ended.
    package var attempts: Int
    /// When the next attempt is due; nil before the first attempt, or if it failed.
    package var due: Timestamp?
    /// The failure of the last attempt.
    package var failure: FailedAttempt?
    /// Nil if the notification cannot be read.
    package var mode: Mode?
    /// The notification's own expiry; nil if it has none, or cannot be read.
    package var expiresAt: Timestamp?
    /// The size of the notification in the outbox.
    package var size: ByteCount
    /// The event of the notification; nil for a batch, or if it cannot be read.
    var origin: EventOrigin?

    /// Its key in the outbox; nil for a dead letter.
    package var key: OutboxKey? { if case .waiting(let key) = place { key } else { nil } }

    /// Its number among the dead letters; nil for a queued one.
    package var letter: DeadLetterNumber? { if case .failed(let number, _) = place { number } else { nil } }

    /// When it failed permanently.
    package var failedAt: Timestamp? { if case .failed(_, let time) = place { time } else { nil } }

    /// Returns a report of an operator's decision about it.
    package func report(_ kind: DeliveryReport.Kind, nextDue: Timestamp? = nil) -> DeliveryReport {
        DeliveryReport(
            delivery: id,
            device: device,
            queue: queue,
            kind: kind,
            reason: "operator",
            attempt: attempts,
            nextDue: nextDue,
            mode: mode
        )
    }
}

/// An operator's selection of deliveries: those that match everything that is set.
package struct QueueSelection: Sendable, Hashable {
    package var isWaitingWanted = true
    package var isFailedWanted = true
    /// The deliveries' ids as an operator wrote them; empty means any.
    package var ids: [String] = []
    package var platform: String?
    package var app: String?
    package var device: DeviceID?
    /// The reason of a push service or a plugin, or the kind of failure (``FailedAttempt/Kind``).
    package var reason: String?
    /// The earliest time of failure, or of acceptance for queued ones.
    package var since: Timestamp?
    package var until: Timestamp?

    package init() {}
}

/// A position between two deliveries of a selection. Dead letters come first, each kind in its own order.
package struct QueueCursor: Sendable, Hashable, Comparable, LosslessStringConvertible {
    let isAmongWaiting: Bool
    let number: Int64

    /// Before all deliveries.
    package static let start = QueueCursor(isAmongWaiting: false, number: 0)

    /// After `entry`.
    package init(after entry: QueueEntry) {
        switch entry.place {
        case .failed(let letter, _): self.init(isAmongWaiting: false, number: letter.rawValue)
        case .waiting(let key): self.init(isAmongWaiting: true, number: key.rawValue)
        }
    }

    init(isAmongWaiting: Bool, number: Int64) {
        self.isAmongWaiting = isAmongWaiting
        self.number = number
    }

    package init?(_ description: String) {
        guard let first = description.first, first == "f" || first == "w", let number = Int64(description.dropFirst()),
            number >= 0
        else { return nil }
        self.init(isAmongWaiting: first == "w", number: number)
    }

    package var description: String { (isAmongWaiting ? "w" : "f") + String(number) }

    package static func < (left: QueueCursor, right: QueueCursor) -> Bool {
        (left.isAmongWaiting ? 1 : 0, left.number) < (right.isAmongWaiting ? 1 : 0, right.number)
    }
}

/// Reads the deliveries of an operator's selection, within the caller's transaction.
enum QueueRows {
    /// Returns up to `limit` deliveries from `cursor` on. `isWanted` filters devices.
    static func entries(
        _ selection: QueueSelection,
        from cursor: QueueCursor,
        limit: Int,
        isWanted: (DeviceID) throws -> Bool,
        _ database: Database
    ) throws -> [QueueEntry] {
        var entries: [QueueEntry] = []
        if selection.isFailedWanted, !cursor.isAmongWaiting {
            try read(failed(selection, after: cursor.number), limit, isWanted, &entries, database)
        }
        if selection.isWaitingWanted, entries.count < limit {
            let after = cursor.isAmongWaiting ? cursor.number : 0
            try read(waiting(selection, after: after), limit, isWanted, &entries, database)
        }
        return entries
    }

    private static func read(
        _ query: SQL,
        _ limit: Int,
        _ isWanted: (DeviceID) throws -> Bool,
        _ entries: inout [QueueEntry],
        _ database: Database
    ) throws {
        let (sql, arguments) = try query.build(database)
        let rows = try Row.fetchCursor(database, sql: sql, arguments: arguments)
        while entries.count < limit, let row = try rows.next() {
            let entry = entry(row)
            if try isWanted(entry.device) { entries.append(entry) }
        }
    }

    private static func failed(_ selection: QueueSelection, after number: Int64) -> SQL {
        """
        SELECT number, id, platform, app, device, accepted, attempts, NULL AS due, failure, status, reason, failed,
            notification
        FROM outbox_dead_letter
        WHERE number > \(number) \(conditions(selection, time: "failed")) ORDER BY number
        """
    }

    private static func waiting(_ selection: QueueSelection, after number: Int64) -> SQL {
        """
        SELECT outbox_delivery.number AS number, id, platform, app, device, accepted, attempts, due, failure, status,
            reason, NULL AS failed, \(sql: SharedNotificationRows.content) AS notification
        FROM outbox_delivery JOIN outbox_queue ON outbox_queue.number = outbox_delivery.queue
        WHERE outbox_delivery.number > \(number) \(conditions(selection, time: "accepted"))
        ORDER BY outbox_delivery.number
        """
    }

    private static func conditions(_ selection: QueueSelection, time: SQL) -> SQL {
        var conditions: [SQL] = []
        if !selection.ids.isEmpty { conditions.append("AND id IN \(selection.ids)") }
        if let platform = selection.platform { conditions.append("AND platform = \(platform)") }
        if let app = selection.app { conditions.append("AND app = \(app)") }
        if let device = selection.device { conditions.append("AND device = \(device.rawValue)") }
        if let reason = selection.reason { conditions.append("AND (reason = \(reason) OR failure = \(reason))") }
        if let since = selection.since { conditions.append("AND \(time) >= \(since.milliseconds)") }
        if let until = selection.until { conditions.append("AND \(time) < \(until.milliseconds)") }
        return conditions.joined(separator: " ")
    }

    private static func entry(_ row: Row) -> QueueEntry {
        let number: Int64 = row["number"]
        let failedAt = (row["failed"] as Int64?).map(Timestamp.init(milliseconds:))
        var failure: FailedAttempt?
        if let kind = (row["failure"] as String?).flatMap(FailedAttempt.Kind.init) {
            failure = FailedAttempt(
                kind,
                status: UInt32(clamping: row["status"] as Int64? ?? 0),
                reason: row["reason"] ?? ""
            )
        }
        let (notification, size) = content(row)
        return QueueEntry(
            place: failedAt.map { .failed(DeadLetterNumber(rawValue: number), at: $0) }
                ?? .waiting(OutboxKey(rawValue: number)),
            id: DeliveryID(row["id"]) ?? .unknown,
            device: DeviceID(rawValue: row["device"]),
            queue: QueueName(platform: row["platform"], app: row["app"]),
            acceptedAt: Timestamp(milliseconds: row["accepted"]),
            attempts: row["attempts"],
            due: (row["due"] as Int64?).map(Timestamp.init(milliseconds:)),
            failure: failure,
            mode: notification?.mode,
            expiresAt: notification.flatMap { $0.expiresAt > .epoch ? $0.expiresAt : nil },
            size: size,
            origin: notification?.origin
        )
    }

    private static func content(_ row: Row) -> (Push.Notification?, ByteCount) {
        (try? row.withUnsafeData(named: "notification") { data in
            guard let data else { return (nil, ByteCount(0)) }
            return data.withUnsafeBytes { (try? Push.Notification(blob: $0), ByteCount($0.count)) }
        }) ?? (nil, ByteCount(0))
    }
}

import Foundation
import GRDB
import Notifications
import Units

/// Reads the deliveries that an operator means, within a transaction of the caller's.
enum QueueRows {
    /// At most `limit` from `cursor` on. `isWanted` says which devices are meant.
    static func entries(
        _ selection: QueueSelection,
        from cursor: QueueCursor,
        limit: Int,
        isWanted: (DeviceID) throws -> Bool,
        _ database: Database
    ) throws -> [QueueEntry] {
        var entries: [QueueEntry] = []
        if selection.isFailedWanted, !cursor.isAmongWaiting, try database.tableExists("outbox_dead_letter") {
            try read(failed(selection, after: cursor.number), limit, isWanted, &entries, database)
        }
        if selection.isWaitingWanted, entries.count < limit {
            let after = cursor.isAmongWaiting ? cursor.number : 0
            // An outbox of an earlier version does not note how attempts failed, and shares no notifications.
            let columns = Set(try database.columns(in: "outbox_delivery").map(\.name))
            guard columns.contains("failure") || selection.reason == nil else { return entries }
            try read(waiting(selection, after: after, columns), limit, isWanted, &entries, database)
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

    private static func waiting(_ selection: QueueSelection, after number: Int64, _ columns: Set<String>) -> SQL {
        let hasFailures = columns.contains("failure")
        let failure: SQL = hasFailures ? "failure, status, reason" : "NULL AS failure, NULL AS status, NULL AS reason"
        let notification = columns.contains("shared") ? SharedNotificationRows.content : "notification"
        return """
            SELECT outbox_delivery.number AS number, id, platform, app, device, accepted, attempts, due, \(failure),
                NULL AS failed, \(sql: notification) AS notification
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
        var failure: DeliveryFailure?
        if let kind = (row["failure"] as String?).flatMap(DeliveryFailure.Kind.init) {
            failure = DeliveryFailure(
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
            size: size
        )
    }

    private static func content(_ row: Row) -> (Notifications.Notification?, ByteCount) {
        (try? row.withUnsafeData(named: "notification") { data in
            guard let data else { return (nil, ByteCount(0)) }
            return data.withUnsafeBytes { (try? Notifications.Notification(blob: $0), ByteCount($0.count)) }
        }) ?? (nil, ByteCount(0))
    }
}

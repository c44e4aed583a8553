import GRDB
import Notifications
import Storage
import Synchronization

extension Outbox {
    private static let columns = "number, id, device, accepted, attempts, due, notification"

    package func firstTries(of queue: Int, after: OutboxKey, limit: Int) throws -> OutboxPage {
        try page(
            """
            SELECT \(Outbox.columns) FROM outbox_delivery
            WHERE number > ? AND number <= ? AND due IS NULL ORDER BY number LIMIT ?
            """,
            [max(after, .lowest(of: queue)).rawValue, OutboxKey.highest(of: queue).rawValue],
            of: queue,
            limit: limit
        )
    }

    package func retries(of queue: Int, from place: RetryPlace, limit: Int) throws -> OutboxPage {
        try page(
            """
            SELECT \(Outbox.columns) FROM outbox_delivery
            WHERE queue = ? AND due IS NOT NULL AND (due, number) >= (?, ?) ORDER BY due, number LIMIT ?
            """,
            [Int64(queue), place.due, place.key.rawValue],
            of: queue,
            limit: limit
        )
    }

    private func page(_ sql: String, _ arguments: [Int64], of queue: Int, limit: Int) throws -> OutboxPage {
        let name = state.withLock { state in state.queues.first { $0.value == queue }?.key }
        guard let name else { return OutboxPage(isLast: true) }
        return try watch.reading {
            try writer.read { database in
                let select = try RawStatement(database, sql)
                defer { select.reset() }
                for (index, value) in (arguments + [Int64(limit)]).enumerated() {
                    try select.bind(value, at: Int32(index) + 1)
                }
                var page = OutboxPage(isLast: false)
                var rows = 0
                while try select.step() {
                    rows += 1
                    Outbox.read(select, of: name, into: &page)
                }
                page.isLast = rows < limit
                return page
            }
        }
    }

    private static func read(_ row: RawStatement, of queue: QueueName, into page: inout OutboxPage) {
        let key = OutboxKey(rawValue: row.integer(at: 0))
        let id = row.text(at: 1)
        let device = row.integer(at: 2)
        guard let notification = try? Notification(blob: row.bytes(at: 6)) else {
            page.unreadable.append(OutboxPage.Unreadable(key: key, id: id, device: device))
            return
        }
        let delivery = Delivery(
            id: id,
            device: DeviceID(rawValue: device),
            platform: queue.platform,
            app: queue.app,
            notification: notification,
            acceptedAt: row.integer(at: 3)
        )
        page.deliveries.append(
            StoredDelivery(
                key: key,
                delivery: delivery,
                attempts: Int(row.integer(at: 4)),
                due: row.isNull(at: 5) ? nil : row.integer(at: 5)
            )
        )
    }
}

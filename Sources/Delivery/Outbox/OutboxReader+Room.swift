import GRDB

extension OutboxReader {
    /// Whether so much waits in a queue of an outbox for `limit` deliveries that what comes for it may have to wait for room.
    package func isCrowded(_ queue: QueueName, limit: Int) throws -> Bool {
        try read { database in
            guard let number = try Outbox.queues(database)[queue] else { return false }
            let few = QueueShare(of: limit).hostLimit
            // More than that need not be counted.
            let waiting = try Int.fetchOne(
                database,
                sql: "SELECT count(*) FROM (SELECT 1 FROM outbox_delivery WHERE number BETWEEN ? AND ? LIMIT ?)",
                arguments: [OutboxKey.lowest(of: number).rawValue, OutboxKey.highest(of: number).rawValue, few]
            )
            return waiting == few
        }
    }
}

import GRDB
import GRDBSQLite
import Notifications
import Storage
import Synchronization

extension Outbox {
    package func insert(
        _ deliveries: [Delivery],
        causes: [[UInt8]],
        pace: PaceChanges,
        handOver: ([StoredDelivery]) -> Void
    ) throws {
        guard !deliveries.isEmpty || !causes.isEmpty || !pace.isEmpty else { return }
        let blobs = deliveries.map(\.notification.blob)
        try state.withLock { state in
            var next = state
            var inserted: [StoredDelivery] = []
            try watch.writing {
                try writer.writeWithoutTransaction { database in
                    try Outbox.flushEveryCommit(database)
                    try database.inTransaction(.immediate) {
                        let keys = try deliveries.map { delivery in
                            defer { next.nextSequence += 1 }
                            let queue = try Outbox.queue(of: delivery, in: &next.queues, database)
                            return OutboxKey(queue: queue, sequence: next.nextSequence)
                        }
                        try Outbox.insert(deliveries, blobs, keys, database)
                        try Outbox.remember(causes, atMost: causeLimit, database)
                        try Outbox.apply(pace, database)
                        inserted = zip(keys, deliveries).map { StoredDelivery(key: $0, delivery: $1) }
                        return .commit
                    }
                }
            }
            state = next
            stored.add(inserted.count, ordering: .relaxed)
            if !inserted.isEmpty { handOver(inserted) }
        }
    }

    package func apply(_ changes: OutboxChanges) throws {
        guard !changes.isEmpty else { return }
        var removed = 0
        try watch.writing {
            try writer.writeWithoutTransaction { database in
                try Outbox.flushCheckpointsOnly(database)
                let written = Result {
                    try database.inTransaction(.immediate) {
                        removed = try Outbox.apply(changes, database)
                        return .commit
                    }
                }
                try Outbox.flushEveryCommit(database)
                try written.get()
            }
        }
        stored.subtract(removed, ordering: .relaxed)
    }

    private static func apply(_ changes: OutboxChanges, _ database: Database) throws -> Int {
        if !changes.reschedulings.isEmpty {
            let update = try RawStatement(
                database,
                "UPDATE outbox_delivery SET due = ?, attempts = ? WHERE number = ?"
            )
            defer { update.reset() }
            for change in changes.reschedulings {
                try update.bind(change.due, at: 1)
                try update.bind(Int64(change.attempts), at: 2)
                try update.bind(change.key.rawValue, at: 3)
                try update.run()
                update.reset()
            }
        }
        try apply(changes.ends, database)
        let delete = try RawStatement(database, "DELETE FROM outbox_delivery WHERE number = ?")
        defer { delete.reset() }
        var removed = 0
        for key in changes.removals {
            try delete.bind(key.rawValue, at: 1)
            try delete.run()
            removed += Int(sqlite3_changes(database.sqliteConnection))
            delete.reset()
        }
        return removed
    }

    private static func queue(
        of delivery: Delivery,
        in queues: inout [QueueName: Int],
        _ database: Database
    ) throws -> Int {
        let name = QueueName(platform: delivery.platform, app: delivery.app)
        if let number = queues[name] { return number }
        try database.execute(
            sql: "INSERT INTO outbox_queue (platform, app) VALUES (?, ?)",
            arguments: [name.platform, name.app]
        )
        let number = Int(database.lastInsertedRowID)
        guard number <= OutboxKey.largestQueue else { throw OutboxError.tooManyQueues }
        queues[name] = number
        return number
    }

    private static func insert(
        _ deliveries: [Delivery],
        _ blobs: [[UInt8]],
        _ keys: [OutboxKey],
        _ database: Database
    ) throws {
        let insert = try RawStatement(
            database,
            "INSERT INTO outbox_delivery (number, queue, id, device, accepted, notification) VALUES (?, ?, ?, ?, ?, ?)"
        )
        defer { insert.reset() }
        for ((delivery, blob), key) in zip(zip(deliveries, blobs), keys) {
            try insert.bind(key.rawValue, at: 1)
            try insert.bind(Int64(key.queue), at: 2)
            try insert.bind(delivery.device.rawValue, at: 4)
            try insert.bind(delivery.acceptedAt, at: 5)
            var id = delivery.id
            try id.withUTF8 { id in
                try insert.bind(text: id, at: 3)
                try blob.withUnsafeBytes { blob in
                    try insert.bind(blob: blob, at: 6)
                    try insert.run()
                    insert.reset()
                }
            }
        }
    }
}

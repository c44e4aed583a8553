import Core
import GRDB
import GRDBSQLite
import Push
import Storage

/// Reads and writes the rows of queues, deliveries and causes, within the caller's transaction.
enum OutboxRows {
    private static let columns =
        "number, id, device, accepted, attempts, due, notification, failure, status, reason, shared"

    // MARK: Queues

    static func queues(_ database: Database) throws -> [QueueName: Int] {
        var queues: [QueueName: Int] = [:]
        let rows = try Row.fetchCursor(database, sql: "SELECT platform, app, number FROM outbox_queue")
        while let row = try rows.next() {
            queues[QueueName(platform: row[0], app: row[1])] = row[2]
        }
        return queues
    }

    /// Returns the number of a delivery's queue. A new queue gets a row, and an entry in `queues`.
    static func queue(of delivery: Delivery, in queues: inout [QueueName: Int], _ database: Database) throws -> Int {
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

    /// Returns keys for deliveries that are accepted together, starting at a sequence. Keys of one queue are
    /// consecutive, so that they can be removed in ranges. New queues get a row, and an entry in `queues`.
    static func keys(
        of deliveries: [Delivery],
        from first: Int64,
        in queues: inout [QueueName: Int],
        _ database: Database
    ) throws -> [OutboxKey] {
        let numbers = try deliveries.map { try queue(of: $0, in: &queues, database) }
        var next: [Int: Int64] = [:]
        for number in numbers { next[number, default: 0] += 1 }
        var sequence = first
        for (number, count) in next.sorted(by: { $0.key < $1.key }) {
            next[number] = sequence
            sequence += count
        }
        return numbers.map { number in
            let sequence = next[number, default: first]
            next[number] = sequence + 1
            return OutboxKey(queue: number, sequence: sequence)
        }
    }

    /// Returns those of `queues` that contain deliveries.
    static func waiting(_ database: Database, _ queues: [QueueName: Int]) throws -> [StoredQueue] {
        try queues.sorted { $0.value < $1.value }.compactMap { name, number in
            let last = try Int64.fetchOne(
                database,
                sql: "SELECT max(number) FROM outbox_delivery WHERE number BETWEEN ? AND ?",
                arguments: [OutboxKey.lowest(of: number).rawValue, OutboxKey.highest(of: number).rawValue]
            )
            return last.map { StoredQueue(number: number, name: name, last: OutboxKey(rawValue: $0)) }
        }
    }

    // MARK: Deliveries

    static func count(_ database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "SELECT count(*) FROM outbox_delivery") ?? 0
    }

    static func forEachWaiting(_ database: Database, _ body: (QueueName, DeviceID) -> Void) throws {
        let names = try Dictionary(queues(database).map { (Int64($1), $0) }) { first, _ in first }
        let select = try RawStatement(database, "SELECT queue, device FROM outbox_delivery")
        defer { select.reset() }
        while try select.step() {
            guard let name = names[select.integer(at: 0)] else { continue }
            body(name, DeviceID(rawValue: select.integer(at: 1)))
        }
    }

    static func firstTries(
        of queue: Int,
        _ name: QueueName,
        after: OutboxKey,
        limit: Int,
        _ database: Database
    ) throws -> OutboxPage {
        try page(
            """
            SELECT \(columns) FROM outbox_delivery
            WHERE number > ? AND number <= ? AND due IS NULL ORDER BY number LIMIT ?
            """,
            [max(after, .lowest(of: queue)).rawValue, OutboxKey.highest(of: queue).rawValue],
            of: name,
            limit: limit,
            database
        )
    }

    static func retries(
        of queue: Int,
        _ name: QueueName,
        from place: RetryPlace,
        limit: Int,
        _ database: Database
    ) throws -> OutboxPage {
        try page(
            """
            SELECT \(columns) FROM outbox_delivery
            WHERE queue = ? AND due IS NOT NULL AND (due, number) >= (?, ?) ORDER BY due, number LIMIT ?
            """,
            [Int64(queue), place.due.milliseconds, place.key.rawValue],
            of: name,
            limit: limit,
            database
        )
    }

    private static func page(
        _ sql: String,
        _ arguments: [Int64],
        of queue: QueueName,
        limit: Int,
        _ database: Database
    ) throws -> OutboxPage {
        let select = try RawStatement(database, sql)
        defer { select.reset() }
        for (index, value) in (arguments + [Int64(limit)]).enumerated() {
            try select.bind(value, at: Int32(index) + 1)
        }
        var page = OutboxPage(isLast: false)
        var rows = 0
        var notifications = try StoredNotifications(database)
        while try select.step() {
            rows += 1
            read(select, of: queue, &notifications, into: &page)
        }
        page.isLast = rows < limit
        return page
    }

    private static func read(
        _ row: RawStatement,
        of queue: QueueName,
        _ notifications: inout StoredNotifications,
        into page: inout OutboxPage
    ) {
        let key = OutboxKey(rawValue: row.integer(at: 0))
        let id = DeliveryID(text: row.bytes(at: 1))
        let device = row.integer(at: 2)
        guard let id, let notification = try? notifications.notification(of: row, at: 6, shared: 10) else {
            page.unreadable.append(OutboxPage.Unreadable(key: key, id: id ?? .unknown, device: device))
            return
        }
        let delivery = Delivery(
            id: id,
            device: DeviceID(rawValue: device),
            platform: queue.platform,
            app: queue.app,
            notification: notification,
            acceptedAt: row.timestamp(at: 3)
        )
        page.deliveries.append(
            StoredDelivery(
                key: key,
                delivery: delivery,
                attempts: Int(row.integer(at: 4)),
                due: row.isNull(at: 5) ? nil : row.timestamp(at: 5),
                failure: failure(row, at: 7)
            )
        )
    }

    /// Reads the failure of the last attempt from three columns.
    static func failure(_ row: RawStatement, at column: Int32) -> FailedAttempt? {
        guard !row.isNull(at: column), let kind = FailedAttempt.Kind(rawValue: row.text(at: column)) else {
            return nil
        }
        let status = UInt32(clamping: row.integer(at: column + 1))
        return FailedAttempt(kind, status: status, reason: row.text(at: column + 2))
    }

    /// Returns those of `keys` whose deliveries are stored.
    static func present(_ keys: [OutboxKey], _ database: Database) throws -> Set<OutboxKey> {
        let select = try RawStatement(database, "SELECT 1 FROM outbox_delivery WHERE number = ?")
        defer { select.reset() }
        var present: Set<OutboxKey> = []
        for key in keys {
            try select.bind(key.rawValue, at: 1)
            if try select.step() { present.insert(key) }
            select.reset()
        }
        return present
    }

    static func insert(
        _ deliveries: [Delivery],
        _ notifications: InsertedNotifications,
        _ keys: [OutboxKey],
        _ database: Database
    ) throws {
        try SharedNotificationRows.insert(
            notifications.shared.map { (keys[$0.place].sequence, $0.blob) },
            database
        )
        let columns = "number, queue, id, device, accepted, notification, shared"
        let whole = try RawStatement(
            database,
            "INSERT INTO outbox_delivery (\(columns)) VALUES (?, ?, ?, ?, ?, ?, NULL)"
        )
        let sharing = try RawStatement(
            database,
            "INSERT INTO outbox_delivery (\(columns)) VALUES (?, ?, ?, ?, ?, x'', ?)"
        )
        defer {
            whole.reset()
            sharing.reset()
        }
        for place in deliveries.indices {
            let shared = notifications.sharedPlace(at: place)
            let insert = shared == nil ? whole : sharing
            try insert.bind(keys[place].rawValue, at: 1)
            try insert.bind(Int64(keys[place].queue), at: 2)
            try insert.bind(deliveries[place].device.rawValue, at: 4)
            try insert.bind(deliveries[place].acceptedAt.milliseconds, at: 5)
            try insert.bind(deliveries[place].id, at: 3) {
                if let shared {
                    try insert.bind(keys[shared].sequence, at: 6)
                    try insert.run()
                    insert.reset()
                } else {
                    try notifications.blob(at: place).withUnsafeBytes { blob in
                        try insert.bind(blob: blob, at: 6)
                        try insert.run()
                        insert.reset()
                    }
                }
            }
        }
    }

    /// Applies `changes` except for the removals, with up to `deadLetters` dead letters.
    static func apply(_ changes: OutboxChanges, deadLetters: Int, _ database: Database) throws {
        for change in changes.reschedulings { try apply(change, database) }
        try database.run(
            "UPDATE outbox_delivery SET due = ?1 WHERE number = ?2 AND due > ?1",
            for: changes.immediateRetries
        ) {
            try $0.bind($1.due.milliseconds, at: 1)
            try $0.bind($1.key.rawValue, at: 2)
        }
        if deadLetters > 0 { try DeadLetterRows.addDeadLetters(changes.newDeadLetters, atMost: deadLetters, database) }
        try DeadLetterRows.forget(changes.forgotten, database)
        try PaceStatements.apply(changes.ends, database)
    }

    static func remove(_ ranges: [RemovalRange], _ database: Database) throws -> RemovedDeliveries {
        var removed = RemovedDeliveries()
        guard !ranges.isEmpty else { return removed }
        let single = try RawStatement(database, "DELETE FROM outbox_delivery WHERE number = ?")
        let several = try RawStatement(database, "DELETE FROM outbox_delivery WHERE number BETWEEN ? AND ?")
        defer {
            single.reset()
            several.reset()
        }
        for range in ranges {
            let delete = range.first == range.last ? single : several
            try delete.bind(range.first.rawValue, at: 1)
            if range.first < range.last { try delete.bind(range.last.rawValue, at: 2) }
            try delete.run()
            removed.add(Int(sqlite3_changes(database.sqliteConnection)), of: range)
            delete.reset()
        }
        return removed
    }

    private static func apply(_ change: OutboxChanges.Rescheduling, _ database: Database) throws {
        let failure = change.failure
        let update = try RawStatement(
            database,
            "UPDATE outbox_delivery SET due = ?, attempts = ?"
                + (failure == nil ? "" : ", status = ?4, failure = ?5, reason = ?6") + " WHERE number = ?3"
        )
        defer { update.reset() }
        try update.bind(change.due.milliseconds, at: 1)
        try update.bind(Int64(change.attempts), at: 2)
        try update.bind(change.key.rawValue, at: 3)
        if let failure {
            try update.bind(Int64(failure.status), at: 4)
            try update.bind(failure.kind.rawValue, at: 5)
            try update.bind(failure.reason, at: 6)
        }
        try update.run()
    }

    // MARK: Causes

    static func forEachCause(_ database: Database, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let select = try RawStatement(database, "SELECT id FROM outbox_cause ORDER BY number")
        defer { select.reset() }
        while try select.step() { try body(select.bytes(at: 0)) }
    }

    /// Adds causes and deletes the oldest. Rows are added at one end and deleted at the other, so the cost does not
    /// depend on their number.
    static func remember(_ causes: [[UInt8]], atMost limit: Int, _ database: Database) throws {
        guard !causes.isEmpty else { return }
        try database.run("INSERT INTO outbox_cause (id) VALUES (?)", for: causes) { try $0.bind(blob: $1, at: 1) }
        let forget = try RawStatement(database, "DELETE FROM outbox_cause WHERE number <= ?")
        defer { forget.reset() }
        try forget.bind(database.lastInsertedRowID - Int64(limit), at: 1)
        try forget.run()
    }
}

extension Database {
    /// Runs one statement for each of `elements`; `bind` binds the values of one.
    func run<Elements: Collection>(
        _ sql: String,
        for elements: Elements,
        _ bind: (RawStatement, Elements.Element) throws -> Void
    ) throws {
        guard !elements.isEmpty else { return }
        let statement = try RawStatement(self, sql)
        defer { statement.reset() }
        for element in elements {
            try bind(statement, element)
            try statement.run()
            statement.reset()
        }
    }
}

extension RawStatement {
    /// Binds the text of `id` during `body`, which must run the statement.
    func bind(_ id: DeliveryID, at index: Int32, while body: () throws -> Void) throws {
        try id.withText { text in
            try bind(text: text, at: index)
            try body()
        }
    }
}

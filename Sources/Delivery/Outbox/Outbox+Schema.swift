import GRDB

extension Outbox {
    /// `number` is an ``OutboxKey``. `due` is null until the first attempt has failed: the index holds only what waits for
    /// a retry, because an index in random order over a million first tries makes filling ten times slower.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("outbox-1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE outbox_queue (
                        number INTEGER PRIMARY KEY,
                        platform TEXT NOT NULL,
                        app TEXT NOT NULL,
                        UNIQUE (platform, app)
                    ) STRICT;
                    CREATE TABLE outbox_delivery (
                        number INTEGER PRIMARY KEY,
                        queue INTEGER NOT NULL,
                        id TEXT NOT NULL,
                        device INTEGER NOT NULL,
                        accepted INTEGER NOT NULL,
                        attempts INTEGER NOT NULL DEFAULT 0,
                        due INTEGER,
                        notification BLOB NOT NULL
                    ) STRICT;
                    CREATE INDEX outbox_delivery_retry ON outbox_delivery (queue, due) WHERE due IS NOT NULL;
                    """
            )
        }
        migrator.registerMigration("outbox-2") { database in
            try database.execute(
                sql: "CREATE TABLE outbox_cause (number INTEGER PRIMARY KEY, id BLOB NOT NULL) STRICT"
            )
        }
        migrator.registerMigration("outbox-3") { try $0.execute(sql: paceTables) }
        migrator.registerMigration("outbox-4") { try $0.execute(sql: paceAdditions) }
        migrator.registerMigration("outbox-held-natures") { try $0.execute(sql: heldNatures) }
        return migrator
    }

    static func queues(_ database: Database) throws -> [QueueName: Int] {
        var queues: [QueueName: Int] = [:]
        let rows = try Row.fetchCursor(database, sql: "SELECT platform, app, number FROM outbox_queue")
        while let row = try rows.next() {
            queues[QueueName(platform: row[0], app: row[1])] = row[2]
        }
        return queues
    }

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

    static func count(_ database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "SELECT count(*) FROM outbox_delivery") ?? 0
    }
}

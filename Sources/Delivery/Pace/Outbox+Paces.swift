import GRDB
import Notifications
import Storage

extension Outbox: PaceStore {
    static let paceTables = """
        CREATE TABLE outbox_pace (
            device INTEGER PRIMARY KEY,
            pushed INTEGER NOT NULL,
            window_start INTEGER NOT NULL,
            matches INTEGER NOT NULL,
            day INTEGER NOT NULL,
            pushes INTEGER NOT NULL,
            under_way TEXT,
            released INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE outbox_held (
            number INTEGER PRIMARY KEY,
            account BLOB NOT NULL,
            event BLOB NOT NULL,
            is_message INTEGER NOT NULL,
            has_overflowed INTEGER NOT NULL,
            signal TEXT NOT NULL,
            mode INTEGER NOT NULL,
            urgency INTEGER NOT NULL,
            count INTEGER NOT NULL,
            since INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            notification BLOB
        ) STRICT;
        """

    /// Of groups of several nothing was known of when they expire but what the first of them said.
    static let paceAdditions = """
        ALTER TABLE outbox_held ADD COLUMN sealed_to INTEGER;
        ALTER TABLE outbox_pace ADD COLUMN aside INTEGER NOT NULL DEFAULT 0;
        UPDATE outbox_held SET expires = 0 WHERE count > 1;
        """

    /// What waits is told apart by its nature, and a device may have more of it. Rows of before all become part of a
    /// batch.
    static let heldNatures = """
        ALTER TABLE outbox_held RENAME TO outbox_held_former;
        CREATE TABLE outbox_held (
            number INTEGER PRIMARY KEY,
            account BLOB NOT NULL,
            event BLOB NOT NULL,
            is_message INTEGER NOT NULL,
            has_overflowed INTEGER NOT NULL,
            signal TEXT NOT NULL,
            mode INTEGER NOT NULL,
            urgency INTEGER NOT NULL,
            count INTEGER NOT NULL,
            since INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            notification BLOB,
            sealed_to INTEGER,
            nature INTEGER NOT NULL,
            mark INTEGER,
            made INTEGER NOT NULL
        ) STRICT;
        INSERT INTO outbox_held
            SELECT (number >> 2) << 5 | (number & 3), account, event, is_message, has_overflowed, signal, mode, urgency,
                count, since, expires, notification, sealed_to, mode = 0, NULL, 0
            FROM outbox_held_former;
        DROP TABLE outbox_held_former;
        ALTER TABLE outbox_pace ADD COLUMN silent BLOB;
        """

    private static let day: Int64 = 86_400_000

    package func loadPaces(at now: Int64, pace: (PaceRow) -> Void, held: (HeldRow) -> Void) throws {
        try watch.writing {
            try writer.write { database in
                // What the courier ended without a trace here was most likely sent. The ids are gathered in one scan.
                try database.execute(
                    sql: """
                        UPDATE outbox_pace SET pushed = max(pushed, released), under_way = NULL
                        WHERE under_way IS NOT NULL AND under_way NOT IN (SELECT id FROM outbox_delivery);
                        """
                )
                try database.execute(
                    sql: """
                        DELETE FROM outbox_pace
                        WHERE under_way IS NULL AND day < ? AND max(pushed, window_start) < ? AND NOT EXISTS
                            (SELECT 1 FROM outbox_held WHERE number BETWEEN device << 5 AND device << 5 | 31)
                        """,
                    arguments: [now / Self.day, now - Self.day]
                )
                try Self.readPaces(database, pace)
                try Self.readHeld(database, held)
            }
        }
    }

    /// Of one device, or of all.
    static func readPaces(_ database: Database, of device: DeviceID? = nil, _ body: (PaceRow) -> Void) throws {
        // Readers may find an outbox of before.
        let columns = try Set(database.columns(in: "outbox_pace").map(\.name))
        let aside = columns.contains("aside") ? "aside" : "0"
        let silent = columns.contains("silent") ? "silent" : "NULL"
        let select = try RawStatement(
            database,
            """
            SELECT device, pushed, window_start, matches, day, pushes, under_way, released, \(aside), \(silent)
            FROM outbox_pace
            """ + (device == nil ? "" : " WHERE device = ?")
        )
        defer { select.reset() }
        if let device { try select.bind(device.rawValue, at: 1) }
        while try select.step() {
            body(
                PaceRow(
                    device: DeviceID(rawValue: select.integer(at: 0)),
                    pushedAt: select.integer(at: 1),
                    windowStart: select.integer(at: 2),
                    matches: Int32(clamping: select.integer(at: 3)),
                    dayOfPushes: Int32(clamping: select.integer(at: 4)),
                    pushes: Int32(clamping: select.integer(at: 5)),
                    underWay: select.isNull(at: 6) ? nil : select.text(at: 6),
                    releasedAt: select.integer(at: 7),
                    aside: Int32(clamping: select.integer(at: 8)),
                    silentPushes: moments(select.bytes(at: 9))
                )
            )
        }
    }

    private static func moments(_ bytes: UnsafeRawBufferPointer) -> [Int64] {
        (0..<bytes.count / 8).map { Int64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8 * $0, as: Int64.self)) }
    }

    /// Of one device, or of all.
    static func readHeld(_ database: Database, of device: DeviceID? = nil, _ body: (HeldRow) -> Void) throws {
        // Readers may find an outbox of before.
        let isFormer = try !database.columns(in: "outbox_held").contains { $0.name == "nature" }
        let select = try RawStatement(
            database,
            """
            SELECT number, account, event, is_message, has_overflowed, signal, mode, urgency, count, since, expires,
                \(isFormer ? "mode = 0, NULL, 0" : "nature, mark, made")
            FROM outbox_held
            """ + (device == nil ? "" : " WHERE number BETWEEN ? AND ?")
        )
        defer { select.reset() }
        if let device {
            let keys = isFormer ? HeldKey.allFormer(of: device) : HeldKey.all(of: device)
            try select.bind(keys.lowerBound, at: 1)
            try select.bind(keys.upperBound, at: 2)
        }
        while try select.step() {
            body(
                HeldRow(
                    key: isFormer ? HeldKey(former: select.integer(at: 0)) : HeldKey(rawValue: select.integer(at: 0)),
                    account: Array(select.bytes(at: 1)),
                    event: Array(select.bytes(at: 2)),
                    isMessage: select.integer(at: 3) != 0,
                    hasOverflowed: select.integer(at: 4) != 0,
                    signal: Signal(rawValue: select.text(at: 5)),
                    mode: Mode(rawValue: Int32(clamping: select.integer(at: 6))) ?? .wake,
                    urgency: Urgency(rawValue: Int32(clamping: select.integer(at: 7))) ?? .normal,
                    count: UInt32(clamping: select.integer(at: 8)),
                    since: select.integer(at: 9),
                    expiresAt: select.integer(at: 10),
                    content: .asBefore,
                    nature: PushNature(rawValue: Int32(clamping: select.integer(at: 11))) ?? .alert,
                    mark: select.isNull(at: 12) ? nil : select.integer(at: 12),
                    madeAt: select.integer(at: 13)
                )
            )
        }
    }

    package func heldNotification(_ key: HeldKey) throws -> HeldNotification? {
        // The writer's connection: what a reader would see may be older.
        try watch.reading {
            try writer.writeWithoutTransaction { database in
                let select = try RawStatement(
                    database,
                    "SELECT notification, sealed_to FROM outbox_held WHERE number = ?"
                )
                defer { select.reset() }
                try select.bind(key.rawValue, at: 1)
                guard try select.step(), !select.isNull(at: 0) else { return nil }
                guard let notification = try? Notification(blob: select.bytes(at: 0)) else { return nil }
                return HeldNotification(notification, sealedTo: select.isNull(at: 1) ? nil : select.integer(at: 1))
            }
        }
    }
}

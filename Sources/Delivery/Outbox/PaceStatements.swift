import GRDB
import Notifications
import Storage
import Units

/// Reads and writes the paces of devices and the groups of events they hold, within a transaction of the caller's.
enum PaceStatements {
    /// Brings rows up to date at a start, at `now`: a push whose delivery ended without a trace here was most likely
    /// sent, and rows that mean nothing any more are deleted.
    static func settle(_ database: Database, at now: Timestamp) throws {
        // The ids are gathered in one scan.
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
            arguments: [now.milliseconds / 86_400_000, (now - .days(1)).milliseconds]
        )
    }

    /// Reads the row of one device, or all rows.
    static func readPaces(_ database: Database, of device: DeviceID? = nil, _ body: (PaceRow) -> Void) throws {
        // A reader may find an outbox of an earlier version.
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
                    pushedAt: select.timestamp(at: 1),
                    windowStart: select.timestamp(at: 2),
                    matches: Int32(clamping: select.integer(at: 3)),
                    dayOfPushes: Int32(clamping: select.integer(at: 4)),
                    pushes: Int32(clamping: select.integer(at: 5)),
                    underWay: DeliveryID(text: select.bytes(at: 6)),
                    releasedAt: select.timestamp(at: 7),
                    aside: Int32(clamping: select.integer(at: 8)),
                    silentPushes: moments(select.bytes(at: 9))
                )
            )
        }
    }

    private static func moments(_ bytes: UnsafeRawBufferPointer) -> [Timestamp] {
        (0..<bytes.count / 8).map { index in
            let number = bytes.loadUnaligned(fromByteOffset: 8 * index, as: Int64.self)
            return Timestamp(milliseconds: Int64(bigEndian: number))
        }
    }

    /// Reads the groups of one device, or all groups.
    static func readHeld(_ database: Database, of device: DeviceID? = nil, _ body: (HeldRow) -> Void) throws {
        // A reader may find an outbox of an earlier version.
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
                    since: select.timestamp(at: 9),
                    expiresAt: select.timestamp(at: 10),
                    content: .asBefore,
                    nature: PushNature(rawValue: Int32(clamping: select.integer(at: 11))) ?? .alert,
                    mark: select.isNull(at: 12) ? nil : select.integer(at: 12),
                    madeAt: select.integer(at: 13)
                )
            )
        }
    }

    /// What the group says as long as it is one event; nil when there is nothing, or it cannot be read.
    static func notification(_ database: Database, of key: HeldKey) throws -> HeldNotification? {
        let select = try RawStatement(database, "SELECT notification, sealed_to FROM outbox_held WHERE number = ?")
        defer { select.reset() }
        try select.bind(key.rawValue, at: 1)
        guard try select.step(), !select.isNull(at: 0) else { return nil }
        guard let notification = try? Notification(blob: select.bytes(at: 0)) else { return nil }
        return HeldNotification(notification, sealedTo: select.isNull(at: 1) ? nil : select.integer(at: 1))
    }

    static func apply(_ changes: PaceChanges, _ database: Database) throws {
        guard !changes.isEmpty else { return }
        try forget(changes.forgotten, database)
        try put(changes.rows, database)
        for row in changes.held { try put(row, database) }
        let delete = try RawStatement(database, "DELETE FROM outbox_held WHERE number = ?")
        defer { delete.reset() }
        for key in changes.released {
            try delete.bind(key.rawValue, at: 1)
            try delete.run()
            delete.reset()
        }
    }

    /// Notes the ends of deliveries, in the transaction that removes these from the outbox.
    static func apply(_ ends: [PushEnd], _ database: Database) throws {
        guard !ends.isEmpty, try hasRows(database) else { return }
        let counted = try RawStatement(
            database,
            "UPDATE outbox_pace SET under_way = NULL, pushed = ?3, aside = 0 WHERE device = ?1 AND under_way = ?2"
        )
        let failed = try RawStatement(database, failure("aside"))
        let aside = try RawStatement(database, failure("aside + 1") + " AND aside < \(PaceRow.mostAside)")
        defer {
            counted.reset()
            failed.reset()
            aside.reset()
        }
        for end in ends {
            let update = end.counts ? counted : end.standsAside ? aside : failed
            try update.bind(end.device.rawValue, at: 1)
            try update.bind(end.moment.milliseconds, at: 3)
            try update.bind(end.delivery, at: 2) { try update.run() }
            update.reset()
        }
    }

    /// Whether any device has a pace. Where none has, ends of deliveries change nothing.
    private static func hasRows(_ database: Database) throws -> Bool {
        let select = try RawStatement(database, "SELECT 1 FROM outbox_pace LIMIT 1")
        defer { select.reset() }
        return try select.step()
    }

    /// For a push that does not count. `aside` is the new value of that column.
    private static func failure(_ aside: String) -> String {
        """
        UPDATE outbox_pace SET under_way = NULL, aside = \(aside),
            pushes = pushes - (pushes > 0 AND day = min(released, ?3) / 86400000)
        WHERE device = ?1 AND under_way = ?2
        """
    }

    private static func forget(_ devices: [DeviceID], _ database: Database) throws {
        try DeadLetterRows.forget(devices, database)
        for device in devices {
            try database.cachedStatement(sql: "DELETE FROM outbox_pace WHERE device = ?")
                .execute(arguments: [device.rawValue])
            let keys = HeldKey.all(of: device)
            try database.cachedStatement(sql: "DELETE FROM outbox_held WHERE number BETWEEN ? AND ?")
                .execute(arguments: [keys.lowerBound, keys.upperBound])
        }
    }

    private static func put(_ rows: [PaceRow], _ database: Database) throws {
        guard !rows.isEmpty else { return }
        let insert = try RawStatement(
            database,
            """
            INSERT OR REPLACE INTO outbox_pace
                (device, pushed, window_start, matches, day, pushes, released, aside, under_way, silent)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        )
        defer { insert.reset() }
        for row in rows {
            let integers = [
                row.device.rawValue, row.pushedAt.milliseconds, row.windowStart.milliseconds, Int64(row.matches),
                Int64(row.dayOfPushes), Int64(row.pushes), row.releasedAt.milliseconds, Int64(row.aside),
            ]
            for (index, value) in integers.enumerated() { try insert.bind(value, at: Int32(index) + 1) }
            let silent = row.silentPushes.map(\.milliseconds.bigEndian)
            try silent.withUnsafeBytes { silent in
                if !silent.isEmpty { try insert.bind(blob: silent, at: 10) }
                if let underWay = row.underWay {
                    try insert.bind(underWay, at: 9) { try insert.run() }
                } else {
                    try insert.run()
                }
            }
            insert.reset()
        }
    }

    private static func put(_ row: HeldRow, _ database: Database) throws {
        let insert = try RawStatement(database, row.content == .asBefore ? updateGroup : putGroup)
        defer { insert.reset() }
        let integers = [
            row.key.rawValue, row.isMessage ? 1 : 0, row.hasOverflowed ? 1 : 0, Int64(row.mode.rawValue),
            Int64(row.urgency.rawValue), Int64(row.count), row.since.milliseconds, row.expiresAt.milliseconds,
        ]
        for (index, value) in integers.enumerated() { try insert.bind(value, at: Int32(index) + 1) }
        try insert.bind(Int64(row.nature.rawValue), at: 14)
        if let mark = row.mark { try insert.bind(mark, at: 15) }
        try insert.bind(row.madeAt, at: 16)
        try row.account.withUnsafeBytes { account in
            try insert.bind(blob: account, at: 9)
            try row.event.withUnsafeBytes { event in
                try insert.bind(blob: event, at: 10)
                try insert.bind(row.signal.rawValue, at: 11) {
                    guard case .notification(let held) = row.content else { return try insert.run() }
                    if let key = held.sealedTo { try insert.bind(key, at: 13) }
                    try held.notification.blob.withUnsafeBytes { blob in
                        try insert.bind(blob: blob, at: 12)
                        try insert.run()
                    }
                }
            }
        }
    }

    private static let columns = """
        (number, is_message, has_overflowed, mode, urgency, count, since, expires, account, event, signal, notification,
        sealed_to, nature, mark, made)
        """

    private static let putGroup = """
        INSERT OR REPLACE INTO outbox_held \(columns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    /// Leaves the notification, and what it is sealed to, as it is.
    private static let updateGroup = """
        INSERT INTO outbox_held \(columns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?12, ?13, ?14, ?15, ?16)
        ON CONFLICT (number) DO UPDATE SET
            is_message = excluded.is_message, has_overflowed = excluded.has_overflowed, mode = excluded.mode,
            urgency = excluded.urgency, count = excluded.count, since = excluded.since, expires = excluded.expires,
            account = excluded.account, event = excluded.event, signal = excluded.signal, nature = excluded.nature,
            mark = excluded.mark, made = excluded.made
        """
}

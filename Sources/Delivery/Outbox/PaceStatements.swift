import Core
import GRDB
import Push
import Storage

/// Reads and writes the paces of devices and their held groups, within the caller's transaction.
enum PaceStatements {
    /// Updates rows at the start, at `now`: a push whose delivery is gone counts as sent, and rows without effect are
    /// deleted.
    static func settle(_ database: Database, at now: Timestamp) throws {
        // The ids are collected in one scan.
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
        let select = try RawStatement(
            database,
            """
            SELECT device, pushed, window_start, matches, day, pushes, under_way, released, aside, silent
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
                    unblocked: Int32(clamping: select.integer(at: 8)),
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
        let select = try RawStatement(
            database,
            """
            SELECT number, account, event, is_message, has_overflowed, signal, mode, urgency, count, since, expires,
                nature, mark, made, members
            FROM outbox_held
            """ + (device == nil ? "" : " WHERE number BETWEEN ? AND ?")
        )
        defer { select.reset() }
        if let device {
            let keys = HeldKey.all(of: device)
            try select.bind(keys.lowerBound, at: 1)
            try select.bind(keys.upperBound, at: 2)
        }
        while try select.step() {
            body(
                HeldRow(
                    key: HeldKey(rawValue: select.integer(at: 0)),
                    members: Array(select.bytes(at: 14)),
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
                    nature: PushNature(rawValue: Int32(clamping: select.integer(at: 11))) ?? .alert,
                    mark: select.isNull(at: 12) ? nil : select.integer(at: 12),
                    madeAt: select.integer(at: 13)
                )
            )
        }
    }

    /// Reads the held events, and skips rows that cannot be read.
    static func readMembers(_ database: Database, _ body: (HeldMember) -> Void) throws {
        let select = try RawStatement(
            database,
            "SELECT number, event, mode, expires, made, notification, sealed_to FROM outbox_held_member"
        )
        defer { select.reset() }
        while try select.step() {
            guard let held = notification(select, at: 5) else { continue }
            body(
                HeldMember(
                    key: HeldMemberKey(rawValue: select.integer(at: 0)),
                    event: Array(select.bytes(at: 1)),
                    mode: Mode(rawValue: Int32(clamping: select.integer(at: 2))) ?? .wake,
                    expiresAt: select.timestamp(at: 3),
                    madeAt: select.integer(at: 4),
                    held
                )
            )
        }
    }

    /// Returns the notification of one event; nil if there is none, or it cannot be read.
    static func notification(_ database: Database, of key: HeldMemberKey) throws -> HeldNotification? {
        let select = try RawStatement(
            database,
            "SELECT notification, sealed_to FROM outbox_held_member WHERE number = ?"
        )
        defer { select.reset() }
        try select.bind(key.rawValue, at: 1)
        return try select.step() ? notification(select, at: 0) : nil
    }

    /// Reads a notification and the fingerprint of the key that it is sealed to.
    private static func notification(_ row: RawStatement, at column: Int32) -> HeldNotification? {
        guard let notification = try? Notification(blob: row.bytes(at: column)) else { return nil }
        return HeldNotification(notification, sealedTo: row.isNull(at: column + 1) ? nil : row.integer(at: column + 1))
    }

    static func apply(_ changes: PaceChanges, _ database: Database) throws {
        guard !changes.isEmpty else { return }
        try forget(changes.forgotten, database)
        try put(changes.rows, database)
        try put(changes.held, database)
        try delete(changes.released.map(\.rawValue), from: "outbox_held", database)
        try delete(changes.removed.map(\.rawValue), from: "outbox_held_member", database)
        try put(changes.members, database)
        try WithdrawalRows.add(changes.withdrawn, database)
    }

    private static func delete(_ numbers: [Int64], from table: String, _ database: Database) throws {
        try database.run("DELETE FROM \(table) WHERE number = ?", for: numbers) { try $0.bind($1, at: 1) }
    }

    /// Records the ends of deliveries, in the transaction that removes them from the outbox.
    static func apply(_ ends: [CompletedPush], _ database: Database) throws {
        guard !ends.isEmpty, try hasRows(database) else { return }
        let counted = try RawStatement(
            database,
            "UPDATE outbox_pace SET under_way = NULL, pushed = ?3, aside = 0 WHERE device = ?1 AND under_way = ?2"
        )
        let failed = try RawStatement(database, failure("aside"))
        let unblocked = try RawStatement(database, failure("aside + 1") + " AND aside < \(PaceRow.maxUnblocked)")
        defer {
            counted.reset()
            failed.reset()
            unblocked.reset()
        }
        for end in ends {
            let update = end.counts ? counted : end.stopsBlocking ? unblocked : failed
            try update.bind(end.device.rawValue, at: 1)
            try update.bind(end.moment.milliseconds, at: 3)
            try update.bind(end.delivery, at: 2) { try update.run() }
            update.reset()
        }
    }

    /// Whether any device has a pace. If not, ends of deliveries change nothing.
    private static func hasRows(_ database: Database) throws -> Bool {
        let select = try RawStatement(database, "SELECT 1 FROM outbox_pace LIMIT 1")
        defer { select.reset() }
        return try select.step()
    }

    /// The statement for a push that does not count. `unblocked` is the new value of that column.
    private static func failure(_ unblocked: String) -> String {
        """
        UPDATE outbox_pace SET under_way = NULL, aside = \(unblocked),
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
            let members = HeldMemberKey.all(of: device)
            try database.cachedStatement(sql: "DELETE FROM outbox_held_member WHERE number BETWEEN ? AND ?")
                .execute(arguments: [members.lowerBound, members.upperBound])
        }
    }

    private static func put(_ rows: [PaceRow], _ database: Database) throws {
        try database.run(
            """
            INSERT OR REPLACE INTO outbox_pace
                (device, pushed, window_start, matches, day, pushes, released, aside, under_way, silent)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            for: rows
        ) { insert, row in
            let integers = [
                row.device.rawValue, row.pushedAt.milliseconds, row.windowStart.milliseconds, Int64(row.matches),
                Int64(row.dayOfPushes), Int64(row.pushes), row.releasedAt.milliseconds, Int64(row.unblocked),
            ]
            for (index, value) in integers.enumerated() { try insert.bind(value, at: Int32(index) + 1) }
            try insert.bind(row.underWay?.description, at: 9)
            guard !row.silentPushes.isEmpty else { return }
            try row.silentPushes.map(\.milliseconds.bigEndian).withUnsafeBytes { try insert.bind(copyOf: $0, at: 10) }
        }
    }

    private static func put(_ rows: [HeldRow], _ database: Database) throws {
        try database.run(
            """
            INSERT OR REPLACE INTO outbox_held
                (number, is_message, has_overflowed, mode, urgency, count, since, expires, nature, made, account, event,
                members, signal, mark)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            for: rows
        ) { insert, row in
            let integers = [
                row.key.rawValue, row.isMessage ? 1 : 0, row.hasOverflowed ? 1 : 0, Int64(row.mode.rawValue),
                Int64(row.urgency.rawValue), Int64(row.count), row.since.milliseconds, row.expiresAt.milliseconds,
                Int64(row.nature.rawValue), row.madeAt,
            ]
            for (index, value) in integers.enumerated() { try insert.bind(value, at: Int32(index) + 1) }
            try insert.bind(blob: row.account, at: 11)
            try insert.bind(blob: row.event, at: 12)
            try insert.bind(blob: row.members, at: 13)
            try insert.bind(row.signal.rawValue, at: 14)
            try insert.bind(row.mark, at: 15)
        }
    }

    private static func put(_ members: [HeldMember], _ database: Database) throws {
        try database.run(
            """
            INSERT OR REPLACE INTO outbox_held_member (number, mode, expires, made, event, notification, sealed_to)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            for: members
        ) { insert, member in
            try insert.bind(member.key.rawValue, at: 1)
            try insert.bind(Int64(member.mode.rawValue), at: 2)
            try insert.bind(member.expiresAt.milliseconds, at: 3)
            try insert.bind(member.madeAt, at: 4)
            try insert.bind(blob: member.event, at: 5)
            try insert.bind(blob: member.held.notification.blob, at: 6)
            try insert.bind(member.held.sealedTo, at: 7)
        }
    }
}

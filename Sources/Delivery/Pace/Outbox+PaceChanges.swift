import GRDB
import Notifications

/// Writing paces, within a transaction of somebody else's.
extension Outbox {
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

    /// Takes down the ends of deliveries, with the transaction that takes them out of the outbox.
    static func apply(_ ends: [PushEnd], _ database: Database) throws {
        guard !ends.isEmpty else { return }
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
            try update.bind(end.moment, at: 3)
            try bind(end.delivery, at: 2, of: update) { try update.run() }
            update.reset()
        }
    }

    /// What counts for nothing, with what `aside` is then.
    private static func failure(_ aside: String) -> String {
        """
        UPDATE outbox_pace SET under_way = NULL, aside = \(aside),
            pushes = pushes - (pushes > 0 AND day = min(released, ?3) / 86400000)
        WHERE device = ?1 AND under_way = ?2
        """
    }

    private static func forget(_ devices: [DeviceID], _ database: Database) throws {
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
                row.device.rawValue, row.pushedAt, row.windowStart, Int64(row.matches), Int64(row.dayOfPushes),
                Int64(row.pushes), row.releasedAt, Int64(row.aside),
            ]
            for (index, value) in integers.enumerated() { try insert.bind(value, at: Int32(index) + 1) }
            let silent = row.silentPushes.map(\.bigEndian)
            try silent.withUnsafeBytes { silent in
                if !silent.isEmpty { try insert.bind(blob: silent, at: 10) }
                if let underWay = row.underWay {
                    try bind(underWay, at: 9, of: insert) { try insert.run() }
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
            Int64(row.urgency.rawValue), Int64(row.count), row.since, row.expiresAt,
        ]
        for (index, value) in integers.enumerated() { try insert.bind(value, at: Int32(index) + 1) }
        try insert.bind(Int64(row.nature.rawValue), at: 14)
        if let mark = row.mark { try insert.bind(mark, at: 15) }
        try insert.bind(row.madeAt, at: 16)
        try row.account.withUnsafeBytes { account in
            try insert.bind(blob: account, at: 9)
            try row.event.withUnsafeBytes { event in
                try insert.bind(blob: event, at: 10)
                try bind(row.signal.rawValue, at: 11, of: insert) {
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

    private static func bind(
        _ text: String,
        at index: Int32,
        of statement: RawStatement,
        _ body: () throws -> Void
    ) throws {
        var text = text
        try text.withUTF8 { text in
            try statement.bind(text: text, at: index)
            try body()
        }
    }
}

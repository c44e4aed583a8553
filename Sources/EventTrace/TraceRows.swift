import Cipher
import Delivery
import Foundation
import GRDB
import Nostr
import Notifications
import Storage
import Units

/// The rows of a trace within one access to its database.
struct TraceRows {
    /// Longer reasons are cut off: strangers can make them long.
    private static let reasonBytes = 200
    /// An event that names thousands of devices is shown as far as this.
    private static let mostEntries = 10_000

    let db: Database

    func insert(_ entries: some Sequence<(row: Int64, entry: TraceEntry)>, into segment: Int64) throws {
        let insert = try db.cachedStatement(
            sql: """
                INSERT INTO entries_\(segment)
                    (row, time, event, account, device, delivery, word, reason, platform, app, status, attempt, next_due)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        )
        for (row, entry) in entries {
            let word: String
            var report: TraceEntry.Report?
            switch entry.what {
            case .step(let step): word = step
            case .report(let content):
                word = content.kind
                report = content
            }
            try insert.execute(arguments: [
                row, entry.time, entry.event.map { Data($0.array) }, entry.account.map { Data($0.array) },
                entry.device?.rawValue, entry.delivery.map(DeliveryName.data), word, Self.line(entry.reason),
                report?.queue.platform, report?.queue.app, report?.status, report?.attempt, report?.nextDue,
            ])
        }
    }

    func put(_ status: DeviceStatus, of device: DeviceID, at time: Timestamp) throws {
        let upsert = try db.cachedStatement(
            sql: """
                INSERT INTO devices VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE SET
                    changed_at = ?2,
                    delivered_at = coalesce(?3, delivered_at), delivered_status = coalesce(?4, delivered_status),
                    failed_at = coalesce(?5, failed_at), failed_kind = coalesce(?6, failed_kind),
                    failed_status = coalesce(?7, failed_status), failed_reason = coalesce(?8, failed_reason)
                """
        )
        try upsert.execute(arguments: [
            device.rawValue, time, status.lastSuccess?.at, status.lastSuccess?.status, status.lastFailure?.at,
            status.lastFailure?.kind, status.lastFailure?.status, status.lastFailure.map { Self.line($0.reason) },
        ])
    }

    /// In place of those that were there.
    func put(_ pauses: some Sequence<TracedPause>) throws {
        try db.execute(sql: "DELETE FROM pauses")
        for paused in pauses {
            let pause = paused.pause
            try db.execute(
                sql: "INSERT INTO pauses (platform, app, since, until, cause, reason) VALUES (?, ?, ?, ?, ?, ?)",
                arguments: [
                    pause.queue.platform, pause.queue.app, paused.since, pause.until, "\(pause.cause)",
                    Self.line(pause.reason),
                ]
            )
        }
    }

    func pauses() throws -> [QueueName: TracedPause] {
        var pauses: [QueueName: TracedPause] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT * FROM pauses") {
            let word: String = row["cause"]
            guard let cause = QueuePause.Cause.allCases.first(where: { "\($0)" == word }) else { continue }
            let queue = QueueName(platform: row["platform"], app: row["app"])
            let pause = QueuePause(queue: queue, until: row["until"], reason: row["reason"], cause: cause)
            pauses[queue] = TracedPause(pause, since: row["since"])
        }
        return pauses
    }

    /// Looks at every device, so not to be done often.
    func forgetDevices(unchangedSince time: Timestamp) throws {
        try db.execute(sql: "DELETE FROM devices WHERE changed_at < ?", arguments: [time])
    }

    func status(of device: DeviceID) throws -> DeviceStatus? {
        let select = try db.cachedStatement(sql: "SELECT * FROM devices WHERE device = ?")
        guard let row = try Row.fetchOne(select, arguments: [device.rawValue]) else { return nil }
        var status = DeviceStatus()
        if let at = row["delivered_at"] as Timestamp? {
            status.lastSuccess = DeviceStatus.Success(at: at, status: row["delivered_status"] ?? 0)
        }
        if let at = row["failed_at"] as Timestamp? {
            status.lastFailure = DeviceStatus.Failure(
                at: at,
                kind: row["failed_kind"] ?? "",
                status: row["failed_status"] ?? 0,
                reason: row["failed_reason"] ?? ""
            )
        }
        return status
    }

    /// The steps of `event` and what became of the deliveries that came of it, in their order; with a `recipient` what
    /// is about others is left out.
    func history(of event: EventID, for recipient: PublicKey? = nil) throws -> [TraceEntry] {
        let segments = try Int64.fetchAll(db, sql: "SELECT number FROM segments ORDER BY number")
        var found: [(row: Int64, entry: TraceEntry)] = []
        var deliveries: Set<Data> = []
        for segment in segments {
            let sql = """
                SELECT * FROM entries_\(segment) WHERE event = ?1 AND (?2 IS NULL OR account IS NULL OR account = ?2)
                ORDER BY row LIMIT ?3
                """
            let rows = try Row.fetchCursor(
                db,
                sql: sql,
                arguments: [Data(event.array), recipient.map { Data($0.array) }, Self.mostEntries - found.count]
            )
            while let row = try rows.next() {
                if let delivery = row["delivery"] as Data? { deliveries.insert(delivery) }
                found.append((row["row"], Self.entry(row)))
            }
        }
        var open = deliveries
        while !open.isEmpty {
            var joined: Set<Data> = []
            for segment in segments {
                let select = try db.cachedStatement(
                    sql: "SELECT * FROM entries_\(segment) WHERE delivery = ? AND event IS NULL ORDER BY row"
                )
                for delivery in open {
                    for row in try Row.fetchAll(select, arguments: [delivery]) {
                        let entry = Self.entry(row)
                        if let other = entry.joinedDelivery { joined.insert(DeliveryName.data(other)) }
                        found.append((row["row"], entry))
                    }
                }
            }
            open = joined.subtracting(deliveries)
            deliveries.formUnion(open)
        }
        return found.sorted { $0.row < $1.row }.map(\.entry)
    }

    /// When the oldest entry that is kept happened.
    func beginning() throws -> Timestamp? {
        try Timestamp.fetchOne(db, sql: "SELECT min(began_at) FROM segments")
    }

    private static func entry(_ row: Row) -> TraceEntry {
        let event: Data? = row["event"]
        let account: Data? = row["account"]
        let delivery: Data? = row["delivery"]
        let word: String = row["word"]
        var what = TraceEntry.What.step(word)
        // Steps have no queue.
        if let platform: String = row["platform"] {
            what = .report(
                TraceEntry.Report(
                    kind: word,
                    queue: QueueName(platform: platform, app: row["app"] ?? ""),
                    status: row["status"] ?? 0,
                    attempt: row["attempt"] ?? 0,
                    nextDue: row["next_due"]
                )
            )
        }
        return TraceEntry(
            time: row["time"],
            what: what,
            event: event.flatMap { EventID(bytes: Array($0)) },
            account: account.flatMap { PublicKey(bytes: Array($0)) },
            device: (row["device"] as Int64?).map(DeviceID.init(rawValue:)),
            delivery: delivery.map(DeliveryName.text),
            reason: row["reason"]
        )
    }

    /// One printable line.
    private static func line(_ reason: String) -> String {
        guard reason.utf8.count > reasonBytes || reason.unicodeScalars.contains(where: { $0.properties.isControl })
        else {
            return reason
        }
        var line = ""
        for scalar in reason.unicodeScalars where !scalar.properties.isControl {
            guard line.utf8.count + UTF8.width(scalar) <= reasonBytes else { break }
            line.unicodeScalars.append(scalar)
        }
        return line
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isControl: Bool { generalCategory == .control || generalCategory == .lineSeparator }
}

/// A delivery's id as the trace keeps it: 16 bytes where it is a UUID, which it is but in tests.
enum DeliveryName {
    static func data(_ id: String) -> Data {
        guard id.utf8.count == 36, let bytes = Hex.decode(id.filter { $0 != "-" }), bytes.count == 16,
            text(Data(bytes)) == id
        else { return Data(id.utf8) }
        return Data(bytes)
    }

    static func text(_ data: Data) -> String {
        guard data.count == 16 else { return String(decoding: data, as: UTF8.self) }
        var parts: [Substring] = []
        var rest = Hex.encode(Array(data))[...]
        for length in [8, 4, 4, 4, 12] {
            parts.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return parts.joined(separator: "-")
    }
}

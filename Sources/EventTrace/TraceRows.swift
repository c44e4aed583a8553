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

    /// The number of an entry's row, and where the entry is.
    typealias Place = (row: Int64, index: Int)

    /// Through bare statements: several entries come of each push, and GRDB's values cost more than SQLite's work.
    func insert(_ entries: [TraceEntry], at places: ArraySlice<Place>, into segment: Int64) throws {
        let insert = try RawStatement(
            db,
            """
            INSERT INTO entries_\(segment)
                (row, time, event, account, device, delivery, word, reason, platform, app, status, attempt, next_due)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        )
        defer { insert.reset() }
        for (row, index) in places { try Self.insert(entries[index], row, by: insert) }
    }

    private static func insert(_ entry: TraceEntry, _ row: Int64, by insert: RawStatement) throws {
        try insert.bind(row, at: 1)
        try insert.bind(entry.time.milliseconds, at: 2)
        try entry.event?.bytes.withUnsafeBytes { try insert.bind(copyOf: $0, at: 3) }
        try entry.account?.bytes.withUnsafeBytes { try insert.bind(copyOf: $0, at: 4) }
        try insert.bind(entry.device?.rawValue, at: 5)
        if let delivery = entry.delivery {
            try DeliveryName.withBytes(delivery) { try insert.bind(copyOf: $0, at: 6) }
        }
        try insert.bind(line(entry.reason), at: 8)
        switch entry.what {
        case .step(let word): try insert.bind(word, at: 7)
        case .report(let report):
            try insert.bind(report.kind, at: 7)
            try insert.bind(report.queue.platform, at: 9)
            try insert.bind(report.queue.app, at: 10)
            try insert.bind(Int64(report.status), at: 11)
            try insert.bind(Int64(report.attempt), at: 12)
            try insert.bind(report.nextDue?.milliseconds, at: 13)
        }
        try insert.run()
        insert.reset()
    }

    func put(_ statuses: [DeviceID: DeviceStatus], at time: Timestamp) throws {
        let upsert = try RawStatement(
            db,
            """
            INSERT INTO devices VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE SET
                changed_at = ?2,
                delivered_at = coalesce(?3, delivered_at), delivered_status = coalesce(?4, delivered_status),
                failed_at = coalesce(?5, failed_at), failed_kind = coalesce(?6, failed_kind),
                failed_status = coalesce(?7, failed_status), failed_reason = coalesce(?8, failed_reason)
            """
        )
        defer { upsert.reset() }
        for (device, status) in statuses {
            try upsert.bind(device.rawValue, at: 1)
            try upsert.bind(time.milliseconds, at: 2)
            try upsert.bind(status.lastSuccess?.at.milliseconds, at: 3)
            try upsert.bind(status.lastSuccess.map { Int64($0.status) }, at: 4)
            try upsert.bind(status.lastFailure?.at.milliseconds, at: 5)
            try upsert.bind(status.lastFailure?.kind, at: 6)
            try upsert.bind(status.lastFailure.map { Int64($0.status) }, at: 7)
            try upsert.bind(status.lastFailure.map { Self.line($0.reason) }, at: 8)
            try upsert.run()
            upsert.reset()
        }
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

    /// The first event of each of `deliveries`. Scans all entries.
    func events(of deliveries: Set<String>) throws -> [String: EventID] {
        let wanted = Set(deliveries.map(DeliveryName.data))
        var events: [String: EventID] = [:]
        for segment in try Int64.fetchAll(db, sql: "SELECT number FROM segments ORDER BY number") {
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT delivery, event FROM entries_\(segment)
                    WHERE event IS NOT NULL AND delivery IS NOT NULL ORDER BY row
                    """
            )
            while let row = try rows.next() {
                guard let delivery = row["delivery"] as Data?, wanted.contains(delivery),
                    let event = (row["event"] as Data?).flatMap({ EventID(bytes: Array($0)) })
                else { continue }
                let name = DeliveryName.text(delivery)
                if events[name] == nil { events[name] = event }
            }
        }
        return events
    }

    /// There is no index by account, which each push would have to pay for: this looks at so many of the newest entries
    /// of each segment at most.
    private static let mostLookedAt = 100_000

    func recentEvents(of account: PublicKey, limit: Int) throws -> [EventID] {
        var events: [EventID] = []
        var rest = Self.mostLookedAt
        for segment in try Int64.fetchAll(db, sql: "SELECT number FROM segments ORDER BY number DESC") where rest > 0 {
            let rows = try Row.fetchCursor(
                db,
                sql: "SELECT event, account FROM entries_\(segment) ORDER BY row DESC LIMIT ?",
                arguments: [rest]
            )
            while let row = try rows.next() {
                rest -= 1
                guard row["account"] as Data? == Data(account.array),
                    let event = (row["event"] as Data?).flatMap({ EventID(bytes: Array($0)) }), !events.contains(event)
                else { continue }
                events.append(event)
                if events.count == limit { return events }
            }
        }
        return events
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
        // Nearly all are a few plain words, which need no look at scalars.
        guard reason.utf8.count > reasonBytes || !reason.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
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
    static func data(_ id: String) -> Data { withBytes(id) { Data($0) } }

    /// Lends the bytes. Read byte by byte and without an array: that is done for each entry of each delivery.
    static func withBytes<Result>(_ id: String, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        var id = id
        return try id.withUTF8 { text in
            var words: (UInt64, UInt64) = (0, 0)
            guard text.count == 36, read(text, into: &words) else { return try body(UnsafeRawBufferPointer(text)) }
            words = (words.0.bigEndian, words.1.bigEndian)
            return try withUnsafeBytes(of: words, body)
        }
    }

    /// False where it is no UUID in lower case.
    private static func read(_ text: UnsafeBufferPointer<UInt8>, into words: inout (UInt64, UInt64)) -> Bool {
        for (place, byte) in text.enumerated() {
            switch place {
            case 8, 13, 18, 23:
                guard byte == UInt8(ascii: "-") else { return false }
            default:
                guard let digit = digit(byte) else { return false }
                if place < 18 {
                    words.0 = words.0 << 4 | UInt64(digit)
                } else {
                    words.1 = words.1 << 4 | UInt64(digit)
                }
            }
        }
        return true
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x61...0x66: byte - 0x57
        default: nil
        }
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

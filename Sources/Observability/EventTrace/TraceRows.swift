import Core
import Delivery
import Foundation
import GRDB
import Nostr
import Push
import Storage

/// Reads a trace without changing it, even while a router writes it.
package struct TraceReader: Sendable {
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// The steps of `event` and the results of its deliveries, in order; empty if unknown. Omits entries before `time`,
    /// and with a `recipient` those of others. Throws a ``TraceError``.
    package func history(
        of event: EventID,
        for recipient: PublicKey? = nil,
        since time: Timestamp
    ) throws(TraceError) -> [TraceEntry] {
        try read { try $0.history(of: event, for: recipient).filter { $0.time >= time } }
    }

    /// The recent results of pushes to each of `devices`; devices without any push are missing. Throws a
    /// ``TraceError``.
    package func statuses(of devices: [DeviceID]) throws(TraceError) -> [DeviceID: DeviceStatus] {
        try read { rows in
            var statuses: [DeviceID: DeviceStatus] = [:]
            for device in devices { statuses[device] = try rows.status(of: device) }
            return statuses
        }
    }

    /// The queues that were paused when this or an earlier router last wrote. Throws a ``TraceError``.
    package func pauses() throws(TraceError) -> [QueueName: TracedPause] {
        try read { try $0.pauses() }
    }

    /// The events behind `deliveries`, by ID: if several, the first. Scans all entries. Throws a ``TraceError``.
    package func events(of deliveries: Set<DeliveryID>) throws(TraceError) -> [DeliveryID: EventID] {
        guard !deliveries.isEmpty else { return [:] }
        return try read { try $0.events(of: deliveries) }
    }

    /// The newest events with a decision about an account, newest first. Looks back a limited number of entries of all
    /// accounts. Throws a ``TraceError``.
    package func recentEvents(of account: PublicKey, limit: Int) throws(TraceError) -> [EventID] {
        try read { try $0.recentEvents(of: account, limit: limit) }
    }

    /// The time of the oldest kept entry; nil: none. Throws a ``TraceError``.
    package func beginning() throws(TraceError) -> Timestamp? {
        try read { try $0.beginning() }
    }

    private func read<Value>(_ body: (TraceRows) throws -> Value) throws(TraceError) -> Value {
        guard FileManager.default.fileExists(atPath: path) else { throw .missing(path) }
        do {
            let found = try TraceSchema.file(at: path).read { try body(TraceRows(db: $0)) }
            guard let found else { throw TraceError.missing(path) }
            return found
        } catch {
            throw TraceError(error, path: path)
        }
    }
}

/// Why a trace cannot be written or read. Names the file, but none of its content.
package enum TraceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It is another program's database.
    case foreign(String)
    /// Another version of Carillon wrote it.
    case otherVersion(String)
    /// The file does not exist.
    case missing(String)
    /// SQLite reported an error.
    case failed(String, reason: String)

    init(_ error: any Error, path: String) {
        switch error {
        case let error as TraceError: self = error
        case let error as DatabaseError: self = .failed(path, reason: error.message ?? "\(error.extendedResultCode)")
        default: self = .failed(path, reason: "\(error)")
        }
    }

    package var description: String {
        switch self {
        case .foreign(let path): "\(path) is another program's database, not a trace: move it elsewhere"
        case .otherVersion(let path):
            "the trace \(path) has another version; the router replaces it at its next start"
        case .missing(let path): "there is no trace \(path) yet: the router creates it with the first event"
        case .failed(let path, let reason): "the trace \(path) is not usable: \(reason)"
        }
    }
}

/// The rows of a trace within one access to its database.
struct TraceRows {
    /// An event that names thousands of devices is shown up to this many entries.
    private static let maxEntries = 10_000

    let db: Database

    /// Uses a raw statement and few rows: each push causes several entries.
    func insert(_ entries: RecordsOfWrite, at places: ArraySlice<TracePlace>, into segment: Int64) throws {
        let insert = try RawStatement(
            db,
            "INSERT INTO entries_\(segment) (row, event, delivery, count, entries, head) VALUES (?, ?, ?, ?, ?, ?)"
        )
        defer { insert.reset() }
        try TraceGroups(places).forEach(of: entries) { place, packed in
            try insert.bind(packed.row, at: 1)
            try insert.bind(Int64(packed.count), at: 4)
            try packed.writer.bytes.withUnsafeBytes { bytes in
                try insert.bind(blob: bytes, at: 5)
                if let event = place.event {
                    try insert.bind(TraceSchema.head(of: event), at: 6)
                    try event.bytes.withUnsafeBytes { event in
                        try insert.bind(blob: event, at: 2)
                        try insert.run()
                    }
                } else if let delivery = entries[place.index].delivery {
                    try delivery.withBytes { delivery in
                        try insert.bind(blob: delivery, at: 3)
                        try insert.run()
                    }
                } else {
                    try insert.run()
                }
                insert.reset()
            }
        }
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
            try upsert.bind(status.lastFailure.map { PackedEntries.line($0.reason) }, at: 8)
            try upsert.run()
            upsert.reset()
        }
    }

    /// Replaces the stored pauses.
    func put(_ pauses: some Sequence<TracedPause>) throws {
        try db.execute(sql: "DELETE FROM pauses")
        for paused in pauses {
            let pause = paused.pause
            try db.execute(
                sql: "INSERT INTO pauses (platform, app, since, until, cause, reason) VALUES (?, ?, ?, ?, ?, ?)",
                arguments: [
                    pause.queue.platform, pause.queue.app, paused.since, pause.until, "\(pause.cause)",
                    PackedEntries.line(pause.reason),
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

    /// Scans every device, so call it rarely.
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
            status.lastFailure = DeviceStatus.FailedPush(
                at: at,
                kind: row["failed_kind"] ?? "",
                status: row["failed_status"] ?? 0,
                reason: row["failed_reason"] ?? ""
            )
        }
        return status
    }

    /// The steps of `event` and the results of its deliveries, in order; with a `recipient` without those of others.
    func history(of event: EventID, for recipient: PublicKey? = nil) throws -> [TraceEntry] {
        let segments = try segments()
        var found: [(row: Int64, entry: TraceEntry)] = []
        var reports: [(row: Int64, entry: TraceEntry)] = []
        var deliveries: Set<DeliveryID> = []
        for segment in segments {
            let sql = "SELECT \(Self.columns) FROM entries_\(segment) WHERE event = ?1 AND head = ?2 ORDER BY row"
            try read(sql, event.bytes.array, head: TraceSchema.head(of: event)) {
                guard $1.event != nil else { return reports.append(($0, $1)) }
                guard found.count < Self.maxEntries, recipient == nil || $1.account == nil || $1.account == recipient
                else { return }
                if let delivery = $1.delivery { deliveries.insert(delivery) }
                found.append(($0, $1))
            }
        }
        found += reports.filter { $0.entry.delivery.map(deliveries.contains) ?? false }
        var open = deliveries
        while !open.isEmpty {
            var joined: Set<DeliveryID> = []
            for segment in segments {
                let sql = "SELECT \(Self.columns) FROM entries_\(segment) WHERE delivery = ? ORDER BY row"
                for delivery in open {
                    try read(sql, delivery.withBytes(Array.init)) { row, entry in
                        if let other = entry.joinedDelivery { joined.insert(other) }
                        found.append((row, entry))
                    }
                }
            }
            open = joined.subtracting(deliveries)
            deliveries.formUnion(open)
        }
        return found.sorted { $0.row < $1.row }.map(\.entry)
    }

    /// The first event of each of `deliveries`. Scans all entries.
    func events(of deliveries: Set<DeliveryID>) throws -> [DeliveryID: EventID] {
        var events: [DeliveryID: (row: Int64, event: EventID)] = [:]
        for segment in try segments() {
            let sql = "SELECT \(Self.columns) FROM entries_\(segment) WHERE event IS NOT NULL ORDER BY row"
            try read(sql) { row, entry in
                guard let delivery = entry.delivery, deliveries.contains(delivery), let event = entry.event,
                    events[delivery].map({ row < $0.row }) ?? true
                else { return }
                events[delivery] = (row, event)
            }
        }
        return events.mapValues(\.event)
    }

    /// How many of the newest entries of each segment are scanned. There is no index by account, because each push
    /// would pay for it.
    private static let maxRowsRead = 100_000

    func recentEvents(of account: PublicKey, limit: Int) throws -> [EventID] {
        var events: [EventID] = []
        var rest = Self.maxRowsRead
        for segment in try segments().reversed() where rest > 0 {
            let select = try RawStatement(db, "SELECT \(Self.columns) FROM entries_\(segment) ORDER BY row DESC")
            defer { select.reset() }
            while rest > 0, try select.step() {
                rest -= Int(select.integer(at: 1))
                var isAbout = false
                guard let event = Self.event(of: select), !events.contains(event) else { continue }
                try Self.read(select) { if $1.event != nil, $1.account == account { isAbout = true } }
                guard isAbout else { continue }
                events.append(event)
                if events.count == limit { return events }
            }
        }
        return events
    }

    private func segments() throws -> [Int64] {
        try Int64.fetchAll(db, sql: "SELECT number FROM segments ORDER BY number")
    }

    // MARK: Reading rows

    private static let columns = "row, count, event, entries"

    /// Calls `body` with all entries of the rows that `sql` selects with these values, and with their numbers.
    private func read(
        _ sql: String,
        _ value: [UInt8]? = nil,
        head: Int64? = nil,
        _ body: (Int64, TraceEntry) throws -> Void
    ) throws {
        let select = try RawStatement(db, sql)
        defer { select.reset() }
        try select.bind(blob: value, at: 1)
        try select.bind(head, at: 2)
        while try select.step() { try Self.read(select, body) }
    }

    private static func read(_ row: RawStatement, _ body: (Int64, TraceEntry) throws -> Void) throws {
        try PackedEntries.read(
            row.bytes(at: 3),
            count: Int(row.integer(at: 1)),
            row: row.integer(at: 0),
            event: event(of: row),
            body
        )
    }

    private static func event(of row: RawStatement) -> EventID? {
        row.isNull(at: 2) ? nil : EventID(bytes: Array(row.bytes(at: 2)))
    }

    /// The time of the oldest kept entry.
    func beginning() throws -> Timestamp? {
        try Timestamp.fetchOne(db, sql: "SELECT min(began_at) FROM segments")
    }
}

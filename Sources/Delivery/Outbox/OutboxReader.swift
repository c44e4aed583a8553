import Core
import Foundation
import GRDB
import Push
import Storage

/// Reads an outbox, even while a router writes to it. Changes nothing.
package struct OutboxReader: Sendable {
    private enum Source: Sendable {
        case file(String)
        case open(Outbox)
    }

    private let source: Source

    package init(path: String) { source = .file(path) }

    /// Reads an outbox that this process has open, such as one in memory.
    package init(of outbox: Outbox) { source = .open(outbox) }

    /// Whether an event is remembered, so that it will not be accepted again. Scans all events.
    package func isCause(_ event: [UInt8]) throws -> Bool {
        try read { database in
            try Bool.fetchOne(
                database,
                sql: "SELECT EXISTS (SELECT 1 FROM outbox_cause WHERE id = ?)",
                arguments: [Data(event)]
            ) ?? false
        }
    }

    /// When the oldest delivery without a final outcome was accepted; nil if there is none.
    package func oldest() throws -> Timestamp? {
        try read { database in
            // Numbers in a queue grow with time.
            let queues = try Int.fetchAll(database, sql: "SELECT number FROM outbox_queue")
            return try queues.compactMap { queue in
                try Int64.fetchOne(
                    database,
                    sql: "SELECT accepted FROM outbox_delivery WHERE number BETWEEN ? AND ? ORDER BY number LIMIT 1",
                    arguments: [OutboxKey.lowest(of: queue).rawValue, OutboxKey.highest(of: queue).rawValue]
                )
            }
            .min().map(Timestamp.init(milliseconds:))
        }
    }

    /// Returns those of `deliveries`, given by id, that have no final outcome yet. Scans all deliveries.
    package func contained(of deliveries: Set<DeliveryID>) throws -> Set<DeliveryID> {
        guard !deliveries.isEmpty else { return [] }
        return try read { database in
            let select = try RawStatement(database, "SELECT id FROM outbox_delivery")
            defer { select.reset() }
            var found: Set<DeliveryID> = []
            while try select.step() {
                if let id = DeliveryID(text: select.bytes(at: 0)), deliveries.contains(id) { found.insert(id) }
            }
            return found
        }
    }

    /// Returns those of `deliveries` that wait for an earlier one to the same device, with the time of that one's next
    /// attempt. Scans all deliveries.
    package func predecessors(of deliveries: Set<DeliveryID>) throws -> [DeliveryID: Timestamp] {
        guard !deliveries.isEmpty else { return [:] }
        return try read { database in
            // A device's deliveries are sent in the order of acceptance.
            var firstDue: [Int64: Timestamp] = [:]
            var found: [DeliveryID: Timestamp] = [:]
            let rows = try Row.fetchCursor(
                database,
                sql: "SELECT id, device, due, attempts FROM outbox_delivery ORDER BY number"
            )
            while let row = try rows.next() {
                let device: Int64 = row[1]
                guard let due = (row[2] as Int64?).map(Timestamp.init(milliseconds:)) else {
                    guard let first = firstDue[device], let id = (row[0] as String?).flatMap({ DeliveryID($0) }),
                        deliveries.contains(id)
                    else {
                        continue
                    }
                    found[id] = first
                    continue
                }
                // A delivery with more failures no longer blocks the others.
                let attempts: Int = row[3]
                if firstDue[device] == nil, attempts < CourierLimits().stopBlockingAfter { firstDue[device] = due }
            }
            return found
        }
    }

    /// Returns the number of deliveries for each of `devices` that has any. Scans all deliveries.
    package func waiting(for devices: [DeviceID]) throws -> [DeviceID: Int] {
        let wanted = Set(devices.map(\.rawValue))
        guard !wanted.isEmpty else { return [:] }
        return try read { database in
            var counts: [DeviceID: Int] = [:]
            let rows = try Int64.fetchCursor(database, sql: "SELECT device FROM outbox_delivery")
            while let device = try rows.next() {
                if wanted.contains(device) { counts[DeviceID(rawValue: device), default: 0] += 1 }
            }
            return counts
        }
    }

    /// Whether a queue in an outbox for `limit` deliveries holds so many that new ones may have to wait for capacity.
    package func isCrowded(_ queue: QueueName, limit: Int) throws -> Bool {
        try read { database in
            guard let number = try OutboxRows.queues(database)[queue] else { return false }
            let few = QueueQuota(of: limit).hostLimit
            // A higher count makes no difference.
            let waiting = try Int.fetchOne(
                database,
                sql: "SELECT count(*) FROM (SELECT 1 FROM outbox_delivery WHERE number BETWEEN ? AND ? LIMIT ?)",
                arguments: [OutboxKey.lowest(of: number).rawValue, OutboxKey.highest(of: number).rawValue, few]
            )
            return waiting == few
        }
    }

    /// Returns the paces of devices, and their held groups without notifications. Omits devices that were never paced.
    package func paces(of devices: [DeviceID]) throws -> [DeviceID: (row: PaceRow, held: [HeldRow])] {
        try read { database in
            var paces: [DeviceID: (row: PaceRow, held: [HeldRow])] = [:]
            for device in devices {
                var row: PaceRow?
                var held: [HeldRow] = []
                try PaceStatements.readPaces(database, of: device) { row = $0 }
                try PaceStatements.readHeld(database, of: device) { held.append($0) }
                if row != nil || !held.isEmpty { paces[device] = (row ?? PaceRow(device: device), held) }
            }
            return paces
        }
    }

    /// Returns the devices that hold a group whose first event is `event`, an id of 32 bytes. Scans all groups.
    package func devices(holding event: [UInt8]) throws -> [DeviceID] {
        try read { database in
            try Int64.fetchAll(
                database,
                sql: "SELECT number FROM outbox_held WHERE event = ? ORDER BY number",
                arguments: [Data(event)]
            )
            .map { HeldKey(rawValue: $0).device }
        }
    }

    /// Returns up to `limit` selected deliveries from `cursor` on. `isWanted` filters devices.
    package func entries(
        _ selection: QueueSelection,
        from cursor: QueueCursor = .start,
        limit: Int,
        isWanted: (DeviceID) throws -> Bool = { _ in true }
    ) throws -> [QueueEntry] {
        try read { try QueueRows.entries(selection, from: cursor, limit: limit, isWanted: isWanted, $0) }
    }

    /// Returns a stored API request; nil if there is none.
    package func request(_ id: [UInt8]) throws -> RequestRecord? { try read { try RequestStore.find(id, $0) } }

    /// Returns the figures from `day` on.
    package func figures(since day: Int) throws -> [DailyFigure: Int] {
        try read { try StatisticsStore.all(since: day, $0) }
    }

    func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        switch source {
        case .open(let outbox): return try outbox.readLatest(body)
        case .file(let path):
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? queue.close() }
            return try queue.read { database in
                try StoreInspection(StoreFile(path: path, kind: Outbox.kind)).refuseStranger(database)
                return try body(database)
            }
        }
    }
}

extension Outbox {
    /// Deletes the deliveries and held groups of the outbox at `path`, which no other process may have open. Accepted
    /// events and paces are kept. Returns the number of deleted deliveries.
    package static func dropWaiting(at path: String) throws -> Int {
        let file = StoreFile(path: path, kind: kind)
        return try file.naming {
            let queue = try DatabaseQueue(path: path)
            defer { try? queue.close() }
            return try queue.write { database in
                let count = try OutboxRows.count(database)
                for table in ["delivery", "notification", "held", "held_member"] {
                    try database.execute(sql: "DELETE FROM outbox_\(table)")
                }
                return count
            }
        }
    }
}

/// Examines every row of an outbox's file, even while a router runs on it. Changes nothing.
package struct OutboxExamination: Sendable {
    package struct Report: Sendable {
        package var deliveries = 0
        /// The problems, one sentence each, without content of deliveries.
        package var findings: [String] = []
        /// Whether the database itself is damaged, and not only single rows.
        package var isDamaged = false
    }

    private let file: StoreFile

    package init(path: String) {
        file = StoreFile(path: path, kind: Outbox.kind)
    }

    /// Throws a `StoreError` if the file cannot be opened, or is not an outbox.
    package func run() throws -> Report {
        guard try file.exists() else { return Report() }
        var report = Report(findings: try StoreInspection(file).thoroughFindings())
        report.isDamaged = !report.findings.isEmpty
        guard !report.isDamaged else { return report }
        try file.reading { database in
            let select = try RawStatement(database, "SELECT \(SharedNotificationRows.content), id FROM outbox_delivery")
            defer { select.reset() }
            var unreadable = 0
            while try select.step() {
                report.deliveries += 1
                if !Self.isReadable(select) { unreadable += 1 }
            }
            let letters = try RawStatement(database, "SELECT notification, id FROM outbox_dead_letter")
            defer { letters.reset() }
            while try letters.step() {
                if !Self.isReadable(letters) { unreadable += 1 }
            }
            if unreadable > 0 {
                report.findings.append("\(unreadable) deliveries cannot be read: they will be reported and removed")
            }
        }
        return report
    }

    /// Whether the columns of a notification and an id are valid.
    private static func isReadable(_ row: RawStatement) -> Bool {
        DeliveryID(text: row.bytes(at: 1)) != nil && (try? Notification(blob: row.bytes(at: 0))) != nil
    }
}

/// The outbox of a router and those of its partitions, with the functions of ``OutboxReader``.
package struct OutboxReaders: Sendable {
    /// The outbox of the router itself.
    package let own: OutboxReader
    private let partitions: @Sendable () -> [OutboxReader]

    package init(own: OutboxReader, partitions: @escaping @Sendable () -> [OutboxReader] = { [] }) {
        (self.own, self.partitions) = (own, partitions)
    }

    private var all: [OutboxReader] { [own] + partitions() }

    package func oldest() throws -> Timestamp? { try all.compactMap { try $0.oldest() }.min() }

    package func contained(of deliveries: Set<DeliveryID>) throws -> Set<DeliveryID> {
        try all.reduce(into: []) { try $0.formUnion($1.contained(of: deliveries)) }
    }

    package func predecessors(of deliveries: Set<DeliveryID>) throws -> [DeliveryID: Timestamp] {
        try all.reduce(into: [:]) { try $0.merge($1.predecessors(of: deliveries), uniquingKeysWith: max) }
    }

    package func waiting(for devices: [DeviceID]) throws -> [DeviceID: Int] {
        try all.reduce(into: [:]) { try $0.merge($1.waiting(for: devices), uniquingKeysWith: +) }
    }

    package func isCrowded(_ queue: QueueName, limit: Int) throws -> Bool {
        try all.contains { try $0.isCrowded(queue, limit: limit) }
    }

    /// A device belongs to one partition, so only one outbox has its pace.
    package func paces(of devices: [DeviceID]) throws -> [DeviceID: (row: PaceRow, held: [HeldRow])] {
        try all.reduce(into: [:]) { try $0.merge($1.paces(of: devices)) { first, _ in first } }
    }

    package func devices(holding event: [UInt8]) throws -> [DeviceID] {
        try all.flatMap { try $0.devices(holding: event) }
    }
}

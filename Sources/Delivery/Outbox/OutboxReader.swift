import Foundation
import GRDB
import Notifications

/// Reads an outbox, also while a router writes to it, and changes nothing.
package struct OutboxReader: Sendable {
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// Whether an event is remembered as one that shall not be accepted again. Looks at all of them.
    package func isCause(_ event: [UInt8]) throws -> Bool {
        try read { database in
            try Bool.fetchOne(
                database,
                sql: "SELECT EXISTS (SELECT 1 FROM outbox_cause WHERE id = ?)",
                arguments: [Data(event)]
            ) ?? false
        }
    }

    /// Which of these deliveries, named by their ids, have not found their end. Looks at all that there are.
    package func contained(of deliveries: Set<String>) throws -> Set<String> {
        guard !deliveries.isEmpty else { return [] }
        return try read { database in
            var found: Set<String> = []
            let ids = try String.fetchCursor(database, sql: "SELECT id FROM outbox_delivery")
            while let id = try ids.next() {
                if deliveries.contains(id) { found.insert(id) }
            }
            return found
        }
    }

    /// For those of these deliveries that wait behind an earlier one for the same device: when that one is tried again,
    /// in milliseconds since 1970. Looks at all that there are.
    package func predecessors(of deliveries: Set<String>) throws -> [String: Int64] {
        guard !deliveries.isEmpty else { return [:] }
        return try read { database in
            // Those of a device come in the order in which they were accepted.
            var firstDue: [Int64: Int64] = [:]
            var found: [String: Int64] = [:]
            let rows = try Row.fetchCursor(
                database,
                sql: "SELECT id, device, due, attempts FROM outbox_delivery ORDER BY number"
            )
            while let row = try rows.next() {
                let device: Int64 = row[1]
                guard let due = row[2] as Int64? else {
                    guard let first = firstDue[device], let id = row[0] as String?, deliveries.contains(id) else {
                        continue
                    }
                    found[id] = first
                    continue
                }
                // What failed so often lets the others pass.
                let attempts: Int = row[3]
                if firstDue[device] == nil, attempts < CourierLimits().standAsideAfter { firstDue[device] = due }
            }
            return found
        }
    }

    /// How many deliveries wait for each of these devices; none are left out. Looks at all that there are.
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

    func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read(body)
    }
}

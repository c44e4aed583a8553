import Foundation
import GRDB
import Notifications

extension OutboxReader {
    /// How devices were woken lately, and what waits for them, without its notifications. Of devices never paced there is nothing;
    /// nor of any in an outbox from before pacing.
    package func paces(of devices: [DeviceID]) throws -> [DeviceID: (row: PaceRow, held: [HeldRow])] {
        try read { database in
            guard try database.tableExists("outbox_pace") else { return [:] }
            var paces: [DeviceID: (row: PaceRow, held: [HeldRow])] = [:]
            for device in devices {
                var row: PaceRow?
                var held: [HeldRow] = []
                try Outbox.readPaces(database, of: device) { row = $0 }
                try Outbox.readHeld(database, of: device) { held.append($0) }
                if row != nil || !held.isEmpty { paces[device] = (row ?? PaceRow(device: device), held) }
            }
            return paces
        }
    }

    /// The devices for which events wait of which this one, named by its 32 bytes, is the first. Looks at all that wait.
    package func devices(holding event: [UInt8]) throws -> [DeviceID] {
        try read { database in
            guard try database.tableExists("outbox_held") else { return [] }
            let isFormer = try !database.columns(in: "outbox_held").contains { $0.name == "nature" }
            return try Int64.fetchAll(
                database,
                sql: "SELECT number FROM outbox_held WHERE event = ? ORDER BY number",
                arguments: [Data(event)]
            )
            .map { (isFormer ? HeldKey(former: $0) : HeldKey(rawValue: $0)).device }
        }
    }
}

import GRDB
import Storage

extension Outbox {
    /// What only a router with a registry puts there.
    private static let filledTables = ["outbox_delivery", "outbox_held", "outbox_cause"]

    /// Whether there is an outbox at `path` with anything in it: deliveries, what devices hold, or events that were accepted.
    ///
    /// Throws a `StoreFault` when that cannot be told. Changes nothing.
    package static func isFilled(at path: String) throws -> Bool {
        let file = StoreFile(path: path, kind: kind)
        guard try file.exists() else { return false }
        return try file.reading { database in
            try filledTables.contains { table in
                guard try database.tableExists(table) else { return false }
                return try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM \(table))") ?? false
            }
        }
    }
}

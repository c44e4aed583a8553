import Foundation
import GRDB
import Nostr
import Push

/// Moves a registry between a single router and a cluster while no router runs on it.
extension RegistryStore {
    static let transferName = "transfer"

    /// The id of the transfer in progress, or nil.
    package func transfer() throws -> String? {
        try read { rows in try rows.one("SELECT value FROM meta WHERE name = ?", [Self.transferName])?[0] }
    }

    /// Marks the store as being transferred: until ``endTransfer()`` no single router serves it.
    package func beginTransfer(_ id: String) throws {
        try writeHere {
            try $0.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", [Self.transferName, id])
        }
    }

    package func endTransfer() throws {
        try writeHere { try $0.execute("DELETE FROM meta WHERE name = ?", [Self.transferName]) }
    }

    /// Whether this registry belongs to a cluster member or is becoming one. A single router on it would send
    /// duplicates of the cluster's pushes.
    package func isShared() throws -> Bool { try transfer() != nil || position() != nil }

    /// Its position in the shared log; nil: it is not shared.
    package func position() throws -> UInt64? { try read { try $0.sharedPosition() } }

    /// Returns an empty record. Sharing starts at its position in the log, with all earlier data.
    package static func emptyChange(_ id: String) throws -> [UInt8] { try RegistryRecord(id: id).bytes() }

    /// Makes it a shared registry that has the log up to `position`, and records for the other members which keys were
    /// read at relays. `asked` are the bits of an interest that a relay query contains.
    package func beginSharing(at position: UInt64, asked: UInt8) throws {
        try writeHere { rows in
            try rows.execute(
                """
                INSERT OR REPLACE INTO watch_read (url, key, interest)
                SELECT url, CASE key WHEN x'' THEN owner ELSE key END, max(interest & ?)
                FROM watch JOIN watch_relays ON watch_relays.id = watch.relay WHERE established GROUP BY 1, 2
                """,
                [asked]
            )
            try rows.setSharedPosition(position)
        }
    }

    /// Makes it a separate registry again. Its relays were read up to `marks`, in seconds since 1970.
    package func endSharing(marks: [String: Int64]) throws {
        try writeHere { rows in
            for (url, mark) in marks {
                try rows.execute("UPDATE watch_relays SET mark = ? WHERE url = ?", [mark, url])
            }
            try rows.forgetSharedPosition()
            try rows.execute("DELETE FROM watch_read")
        }
    }

    /// Applies all changes that the members wrote. Must be called before the registry is loaded.
    package func takeAllChanges(of log: any RegistryLog) throws {
        try takeSnapshot(of: log)
        try join(
            RegistryReplica(log, name: "transfer") { _, _ in
                RegistryReplica.Consequences {
                } later: {
                }
            }
        )
        try catchUp()
    }

    /// Calls `body` with the account of each device.
    package func forEachAccount(_ body: (DeviceID, [UInt8]) -> Void) throws {
        try read { rows in
            let cursor = try Row.fetchCursor(rows.db, sql: "SELECT id, account FROM devices")
            while let row = try cursor.next() { body(DeviceID(rawValue: row[0]), Array(row[1] as Data)) }
        }
    }

    /// Returns up to when each relay was read, in seconds since 1970, by URL.
    package func relayMarks() throws -> [String: Int64] {
        try read { rows in
            Dictionary(try rows.watchRelays().compactMap { relay in relay.mark.map { (relay.url, $0) } }) { $1 }
        }
    }
}

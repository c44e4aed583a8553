import Foundation
import GRDB
import Nostr
import Notifications

/// A registry that becomes a cluster's, or leaves one, while no router runs on it.
extension RegistryStore {
    static let transferName = "cluster transfer"

    /// What this store is being moved by; nil: it is not being moved.
    package func transfer() throws -> String? {
        try read { rows in try rows.one("SELECT value FROM meta WHERE name = ?", [Self.transferName])?[0] }
    }

    /// Notes that the store is being moved: until ``endTransfer()`` no router serves it alone.
    package func beginTransfer(_ id: String) throws {
        try writeHere {
            try $0.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", [Self.transferName, id])
        }
    }

    package func endTransfer() throws {
        try writeHere { try $0.execute("DELETE FROM meta WHERE name = ?", [Self.transferName]) }
    }

    /// Whether this is a member's registry, or becomes one: a router that served it alone would send what others send.
    package func isPartOfCluster() throws -> Bool { try transfer() != nil || position() != nil }

    /// Up to where it has its cluster's log; nil: it belongs to none.
    package func position() throws -> UInt64? { try read { try $0.clusterPosition() } }

    /// A change that changes nothing: the position at which a cluster begins with what was there before.
    package static func emptyChange(_ id: String) throws -> [UInt8] { try RegistryRecord(id: id).bytes() }

    /// Makes it the registry of a cluster whose log it has up to `position`, and notes for the other members what was
    /// read at relays. `asked` are the bits of an interest that a relay is asked for.
    package func joinCluster(at position: UInt64, asked: UInt8) throws {
        try writeHere { rows in
            try rows.execute(
                """
                INSERT OR REPLACE INTO watch_read (url, key, interest)
                SELECT url, CASE key WHEN x'' THEN owner ELSE key END, max(interest & ?)
                FROM watch JOIN watch_relays ON watch_relays.id = watch.relay WHERE established GROUP BY 1, 2
                """,
                [asked]
            )
            try rows.setClusterPosition(position)
        }
    }

    /// Makes it a registry of its own again, whose relays were read up to `marks`.
    package func leaveCluster(marks: [String: Int64]) throws {
        try writeHere { rows in
            for (url, mark) in marks {
                try rows.execute("UPDATE watch_relays SET mark = ? WHERE url = ?", [mark, url])
            }
            try rows.forgetClusterPosition()
            try rows.execute("DELETE FROM watch_read")
        }
    }

    /// Takes up everything that its cluster's members wrote. Nothing may be loaded yet.
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

    /// Up to when relays were read, in seconds since 1970, by their URLs.
    package func relayMarks() throws -> [String: Int64] {
        try read { rows in
            Dictionary(try rows.watchRelays().compactMap { relay in relay.mark.map { (relay.url, $0) } }) { $1 }
        }
    }
}

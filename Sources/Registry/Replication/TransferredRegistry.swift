import Foundation
import GRDB
import Nostr
import Push

/// A registry that several routers begin to share, or that one router keeps, while no router runs on it.
extension RegistryStore {
    static let transferName = "transfer"

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
    package func isShared() throws -> Bool { try transfer() != nil || position() != nil }

    /// Its position in the shared log; nil: it is not shared.
    package func position() throws -> UInt64? { try read { try $0.sharedPosition() } }

    /// A change that changes nothing: the position at which sharing begins with everything from before.
    package static func emptyChange(_ id: String) throws -> [UInt8] { try RegistryRecord(id: id).bytes() }

    /// Makes it a shared registry, which has the log up to `position`, and notes for the other members what was
    /// read at relays. `asked` are the bits of an interest that a relay is asked for.
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

    /// Makes it a registry of its own again, whose relays were read up to `marks`.
    package func endSharing(marks: [String: Int64]) throws {
        try writeHere { rows in
            for (url, mark) in marks {
                try rows.execute("UPDATE watch_relays SET mark = ? WHERE url = ?", [mark, url])
            }
            try rows.forgetSharedPosition()
            try rows.execute("DELETE FROM watch_read")
        }
    }

    /// Takes in everything that the members wrote. Nothing may be loaded yet.
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

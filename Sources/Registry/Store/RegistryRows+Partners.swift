import Foundation
import GRDB
import Nostr
import Notifications

extension RegistryRows {
    /// Replaces what a device wishes that others than the courier must know.
    func putWishes(of device: DeviceID, relays: [String], partners: Set<PublicKey>) throws {
        try execute("DELETE FROM wished_relays WHERE device = ?", [device.rawValue])
        if !relays.isEmpty {
            try execute(
                "INSERT INTO wished_relays (device, relays) VALUES (?, ?)",
                [device.rawValue, relays.joined(separator: "\n")]
            )
        }
        try execute("DELETE FROM partners WHERE device = ?", [device.rawValue])
        for partner in partners {
            try execute(
                "INSERT INTO partners (device, partner) VALUES (?, ?)",
                [device.rawValue, partner.bytes.data]
            )
        }
    }

    func partners(of device: DeviceID) throws -> Set<PublicKey> {
        Set(
            try all("SELECT partner FROM partners WHERE device = ?", [device.rawValue]).map { try key($0, "partner") }
        )
    }

    func partners(of account: PublicKey) throws -> [DeviceID: Set<PublicKey>] {
        let rows = try all(
            "SELECT device, partner FROM devices JOIN partners ON device = id WHERE account = ?",
            [account.bytes.data]
        )
        return try rows.reduce(into: [:]) { partners, row in
            partners[DeviceID(rawValue: row["device"]), default: []].insert(try key(row, "partner"))
        }
    }

    /// Partners in the order in which devices came to name them, and before them the roots that waiting registrations name.
    func rootsOfInterest(limit: Int) throws -> Set<PublicKey> {
        let waiting = try all("SELECT DISTINCT root FROM waiting").map { try key($0, "root") }
        let partners = try all(
            "SELECT partner FROM partners GROUP BY partner ORDER BY min(device) LIMIT ?",
            [max(0, limit - waiting.count)]
        )
        return Set(waiting).union(try partners.map { try key($0, "partner") })
    }

    func isRootOfInterest(_ key: PublicKey) throws -> Bool {
        try one(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM partners WHERE partner = ?1)
                OR EXISTS (SELECT 1 FROM waiting WHERE root = ?1)
            """,
            [key.bytes.data]
        ) != nil
    }

    /// Whether that is an account or a root of interest.
    func concerns(_ key: PublicKey) throws -> Bool {
        try one(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM devices WHERE account = ?1)
                OR EXISTS (SELECT 1 FROM partners WHERE partner = ?1)
                OR EXISTS (SELECT 1 FROM waiting WHERE root = ?1)
            """,
            [key.bytes.data]
        ) != nil
    }
}

import Foundation
import GRDB
import Nostr

extension RegistryRows {
    /// Lets the devices of a root count until `moment` only, in milliseconds since 1970, of which its newest list says
    /// nothing. What was said before of such a list stays.
    func letLapse(devicesOf root: PublicKey, at moment: Int64) throws {
        try execute("UPDATE listed_devices SET until = ? WHERE root = ? AND until IS NULL", [moment, root.bytes.data])
    }

    /// When the first device ceases to count, in milliseconds since 1970; `.max` where none does.
    func nextEndOfGrace() throws -> Int64 {
        try one("SELECT min(until) AS until FROM listed_devices WHERE until IS NOT NULL")?["until"] ?? .max
    }

    /// Takes devices out that count no more at `now`, in milliseconds since 1970; answers with their roots and keys.
    func takeLapsedDevices(at now: Int64) throws -> [(root: PublicKey, device: PublicKey)] {
        try all("DELETE FROM listed_devices WHERE until <= ? RETURNING root, device", [now])
            .map { (try key($0, "root"), try key($0, "device")) }
    }

    func waitingRegistrations(for root: PublicKey?, limit: Int) throws -> [WaitingRegistration] {
        try all(
            """
            SELECT author, device_id, root, created_at FROM waiting
            WHERE root = ?1 OR ?1 IS NULL ORDER BY number LIMIT ?2
            """,
            [root?.bytes.data, max(0, limit)]
        ).map { row in
            WaitingRegistration(
                slot: RegistrationSlot(author: try key(row, "author"), deviceID: row["device_id"]),
                root: try key(row, "root"),
                createdAt: row["created_at"]
            )
        }
    }
}

import Foundation
import GRDB
import Nostr
import Notifications

extension RegistryRows {
    /// How many registrations may wait for one root identity, and for all together: whoever likes may name a root, so the
    /// oldest ones go.
    static let waitingPerRoot = 32
    static let waitingLimit = 10_000

    /// The newest event that waits for a slot.
    func mark(waitingIn slot: RegistrationSlot) throws -> SlotMark? {
        try one(
            "SELECT created_at, event_id FROM waiting WHERE author = ? AND device_id = ?",
            [slot.author.bytes.data, slot.deviceID]
        ).map(mark)
    }

    /// Keeps a registration until ``waiting(for:)`` asks for it, in place of what waited for its slot. `arrivedAt`
    /// is in milliseconds since 1970. Answers with the roots that something no longer waits for.
    func wait(
        _ slot: RegistrationSlot,
        root: PublicKey,
        _ mark: SlotMark,
        json: String,
        arrivedAt: Int64
    ) throws -> Set<PublicKey> {
        var roots: Set<PublicKey> = []
        if let former = try stopWaiting(in: slot) { roots.insert(former) }
        try execute(
            """
            INSERT INTO waiting (author, device_id, root, created_at, event_id, arrived_at, json)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            [
                slot.author.bytes.data, slot.deviceID, root.bytes.data, mark.createdAt, mark.id.bytes.data, arrivedAt,
                json,
            ]
        )
        try execute(
            """
            DELETE FROM waiting WHERE number IN
                (SELECT number FROM waiting WHERE root = ? ORDER BY number DESC LIMIT -1 OFFSET ?)
            """,
            [root.bytes.data, Self.waitingPerRoot]
        )
        let count: Int = try one("SELECT count(*) FROM waiting")?[0] ?? 0
        if count > Self.waitingLimit {
            let oldest = try all(
                "DELETE FROM waiting WHERE number IN (SELECT number FROM waiting ORDER BY number LIMIT ?) RETURNING root",
                [count - Self.waitingLimit]
            )
            for row in oldest { roots.insert(try key(row, "root")) }
        }
        return roots
    }

    /// What waits for a root identity, in the order it came: events as JSON, and when they came, in milliseconds since 1970.
    func waiting(for root: PublicKey) throws -> [(json: String, arrivedAt: Int64)] {
        try all("SELECT json, arrived_at FROM waiting WHERE root = ? ORDER BY number", [root.bytes.data])
            .map { ($0[0], $0[1]) }
    }

    /// Forgets what waits for a slot. Answers with the root identity it named.
    func stopWaiting(in slot: RegistrationSlot) throws -> PublicKey? {
        try one(
            "DELETE FROM waiting WHERE author = ? AND device_id = ? RETURNING root",
            [slot.author.bytes.data, slot.deviceID]
        ).map { try key($0, "root") }
    }
}

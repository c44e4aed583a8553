import Foundation
import GRDB
import Nostr
import Notifications

extension RegistryRows {
    /// The newest event that waits for a slot.
    func mark(waitingIn slot: RegistrationSlot) throws -> SlotMark? {
        try one(
            "SELECT created_at, event_id FROM waiting WHERE author = ? AND device_id = ?",
            [slot.author.bytes.data, slot.deviceID]
        ).map(mark)
    }

    /// Keeps a registration until ``waiting(for:)`` asks for it, in place of what waited for its slot. `arrivedAt`
    /// is in milliseconds since 1970. Whoever likes may name a root, so of what is more than `limits` say the oldest ones go. Answers
    /// with the roots that something no longer waits for.
    func wait(
        _ slot: RegistrationSlot,
        root: PublicKey,
        _ mark: SlotMark,
        json: String,
        arrivedAt: Int64,
        limits: RegistrationDesk.Limits
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
        for (column, key, limit) in [
            ("root", root, limits.waitingPerRoot), ("author", slot.author, limits.waitingPerSigner),
        ] {
            let oldest = try all(
                """
                DELETE FROM waiting WHERE number IN
                    (SELECT number FROM waiting WHERE \(column) = ? ORDER BY number DESC LIMIT -1 OFFSET ?)
                RETURNING root
                """,
                [key.bytes.data, limit]
            )
            for row in oldest { roots.insert(try self.key(row, "root")) }
        }
        let count: Int = try one("SELECT count(*) FROM waiting")?[0] ?? 0
        if count > limits.waiting {
            let oldest = try all(
                "DELETE FROM waiting WHERE number IN (SELECT number FROM waiting ORDER BY number LIMIT ?) RETURNING root",
                [count - limits.waiting]
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

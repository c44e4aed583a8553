import Foundation
import GRDB
import Nostr

/// A registration that is in force or waits for its root identity.
struct HeldRegistration: Hashable {
    var slot: RegistrationSlot
    var mark: SlotMark
    var kind: Kind
    var isWaiting: Bool
}

extension RegistryRows {
    func hasRegistered(_ author: PublicKey) throws -> Bool {
        try one(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM devices WHERE author = ?1)
                OR EXISTS (SELECT 1 FROM devices WHERE account = ?1)
                OR EXISTS (SELECT 1 FROM waiting WHERE author = ?1)
                OR EXISTS (SELECT 1 FROM waiting WHERE root = ?1)
            """,
            [author.bytes.data]
        ) != nil
    }

    func registrations(signedBy author: PublicKey) throws -> [HeldRegistration] {
        try registrations(where: ("devices.author = ?1", "author = ?1"), author)
    }

    /// What other keys registered for `root`.
    func registrations(for root: PublicKey) throws -> [HeldRegistration] {
        try registrations(where: ("account = ?1 AND devices.author <> ?1", "root = ?1 AND author <> ?1"), root)
    }

    private func registrations(
        where condition: (device: String, waiting: String),
        _ key: PublicKey
    ) throws -> [HeldRegistration] {
        let rows = try all(
            """
            SELECT devices.author AS author, device_id, created_at, event_id, json, 0 AS is_waiting
            FROM devices LEFT JOIN own_events
                ON own_events.author = devices.author AND slot = 'device ' || device_id
            WHERE \(condition.device)
            UNION ALL
            SELECT author, device_id, created_at, event_id, json, 1 FROM waiting WHERE \(condition.waiting)
            """,
            [key.bytes.data]
        )
        return try rows.map { row in
            let kind = (row["json"] as String?).flatMap { try? Event(json: Array($0.utf8)) }?.kind
            return HeldRegistration(
                slot: RegistrationSlot(author: try self.key(row, "author"), deviceID: row["device_id"]),
                mark: try mark(row),
                kind: kind ?? .pushRegistration,
                isWaiting: row["is_waiting"]
            )
        }
    }

    /// Ends a registration for good: neither it nor, with `moment`, what its author dated up to that second comes back.
    func end(_ registration: HeldRegistration, until moment: Int64?, _ changes: inout RegistryChanges) throws {
        let slot = registration.slot
        if registration.isWaiting {
            if let root = try stopWaiting(in: slot) { changes.keys.insert(root) }
            guard try device(in: slot) == nil else { return }
            try bury(slot, registration.mark)
        } else if let device = try device(in: slot), device.mark == registration.mark {
            try evict(device, &changes)
        }
        if let moment { try bar(slot, until: moment) }
    }

    /// Lets nothing into a slot that is dated up to that second, in seconds since 1970.
    func bar(_ slot: RegistrationSlot, until moment: Int64) throws {
        let state = try state(of: slot, for: slot.author)
        guard state.mark.map({ $0.createdAt <= moment }) ?? true, try device(in: slot) == nil else { return }
        // Nothing of that second replaces the lowest id there is.
        try bury(slot, SlotMark(createdAt: moment, id: EventID(Bytes32(words: (0, 0, 0, 0)))))
    }

    /// Forgets what is known of an author by events that are dated up to that second, in seconds since 1970, and lets
    /// none of them register anything. What it registered must have ended.
    func forget(
        _ author: PublicKey,
        until moment: Int64,
        limits: RegistrationDesk.Limits,
        _ changes: inout RegistryChanges
    ) throws {
        let key = author.bytes.data
        changes.keys.insert(author)
        try execute("DELETE FROM tombstones WHERE author = ? AND created_at <= ?", [key, moment])
        try execute(
            """
            INSERT INTO floors (author, created_at) VALUES (?, ?)
            ON CONFLICT (author) DO UPDATE SET created_at = max(created_at, excluded.created_at)
            """,
            [key, moment]
        )
        try execute(
            """
            DELETE FROM own_events WHERE author = ?1 AND slot LIKE 'device %'
                AND slot NOT IN (SELECT 'device ' || device_id FROM devices WHERE author = ?1)
                AND slot NOT IN (SELECT 'device ' || device_id FROM tombstones WHERE author = ?1)
            """,
            [key]
        )
        if let list = try mark(of: .deviceList, by: author), list.createdAt <= moment {
            try execute("DELETE FROM listed_devices WHERE root = ?", [key])
            try execute("DELETE FROM message_keys WHERE account = ?", [key])
            changes.index.append(.messageKeys([], of: author))
            for device in try delegatedDevices(of: author) { try revoke(device, limits: limits, &changes) }
        }
        try execute("DELETE FROM lists WHERE author = ? AND created_at <= ?", [key, moment])
        try execute("DELETE FROM recipient_lists WHERE account = ? AND created_at <= ?", [key, moment])
        try execute("DELETE FROM followed WHERE account = ? AND created_at <= ?", [key, moment])
        try execute(
            """
            DELETE FROM follows WHERE author = ?1
                AND EXISTS (SELECT 1 FROM contact_lists WHERE author = ?1 AND created_at <= ?2)
            """,
            [key, moment]
        )
        try execute("DELETE FROM contact_lists WHERE author = ? AND created_at <= ?", [key, moment])
    }
}

import Core
import Foundation
import GRDB
import Nostr
import Push

/// A current registration, or one that waits for its root identity.
struct HeldRegistration: Hashable {
    var slot: RegistrationSlot
    var mark: SlotMark
    var kind: Kind
    var isWaiting: Bool
    /// The router's key that it names.
    var routerKey: PublicKey
}

extension RegistryRows {
    /// The maximum number of tombstones of an author. Older ones are folded into the author's floor.
    static let tombstonesPerAccount = 128

    /// The stored state of a slot and of the account that requests it.
    func state(of slot: RegistrationSlot, for account: PublicKey) throws -> AccountState {
        let author = slot.author.bytes.data
        var state = AccountState()
        if let row = try one(
            "SELECT created_at, event_id FROM devices WHERE author = ? AND device_id = ?",
            [author, slot.deviceID]
        ) {
            state.mark = try mark(row)
            state.isRegistered = true
        } else if let row = try one(
            "SELECT created_at, event_id FROM tombstones WHERE author = ? AND device_id = ?",
            [author, slot.deviceID]
        ) {
            state.mark = try mark(row)
            state.isEnded = true
        }
        if let waiting = try mark(waitingIn: slot), state.mark.map(waiting.replaces) ?? true {
            state.mark = waiting
            state.isEnded = false
        }
        state.devices = try one("SELECT count(*) FROM devices WHERE account = ?", [account.bytes.data])?[0] ?? 0
        state.floor = try one("SELECT created_at FROM floors WHERE author = ?", [author])?[0]
        return state
    }

    /// Records that the slot is empty since `mark`.
    func addTombstone(_ slot: RegistrationSlot, _ mark: SlotMark) throws {
        let author = slot.author.bytes.data
        try execute(
            "INSERT OR REPLACE INTO tombstones (author, device_id, created_at, event_id) VALUES (?, ?, ?, ?)",
            [author, slot.deviceID, mark.createdAt, mark.id.bytes.data]
        )
        let count: Int = try one("SELECT count(*) FROM tombstones WHERE author = ?", [author])?[0] ?? 0
        guard count > Self.tombstonesPerAccount else { return }
        try foldOldestTombstone(of: slot.author)
    }

    /// Removes the oldest tombstone of an author with its deregistration, and raises the author's floor to its date.
    private func foldOldestTombstone(of key: PublicKey) throws {
        let author = key.bytes.data
        let oldest = try one(
            "SELECT device_id, created_at FROM tombstones WHERE author = ? ORDER BY created_at LIMIT 1",
            [author]
        )
        guard let oldest else { return }
        let createdAt: Int64 = oldest["created_at"]
        let deviceID: String = oldest["device_id"]
        try execute("DELETE FROM tombstones WHERE author = ? AND device_id = ?", [author, deviceID])
        try deleteEvent(in: RegistrationSlot(author: key, deviceID: deviceID))
        try execute(
            """
            INSERT INTO floors (author, created_at) VALUES (?, ?)
            ON CONFLICT (author) DO UPDATE SET created_at = max(created_at, excluded.created_at)
            """,
            [author, createdAt]
        )
    }

    // MARK: Registrations that wait for a root identity

    /// The newest event that waits for a slot.
    func mark(waitingIn slot: RegistrationSlot) throws -> SlotMark? {
        try one(
            "SELECT created_at, event_id FROM waiting WHERE author = ? AND device_id = ?",
            [slot.author.bytes.data, slot.deviceID]
        ).map(mark)
    }

    /// Stores a registration until ``waiting(for:)`` takes it, and replaces an earlier one of its slot. Any client may
    /// name a root, so the oldest registrations above `limits` are removed. Returns the roots that no registration
    /// waits for any longer.
    func wait(
        _ slot: RegistrationSlot,
        root: PublicKey,
        _ mark: SlotMark,
        json: String,
        arrivedAt: Timestamp,
        limits: RegistrationPolicy.Limits
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

    /// Registrations that wait for a root identity, in order of arrival, as JSON events with arrival times.
    func waiting(for root: PublicKey) throws -> [(json: String, arrivedAt: Timestamp)] {
        try all("SELECT json, arrived_at FROM waiting WHERE root = ? ORDER BY number", [root.bytes.data])
            .map { ($0[0], $0[1]) }
    }

    /// Removes the waiting registration of a slot. Returns the root identity that it named.
    func stopWaiting(in slot: RegistrationSlot) throws -> PublicKey? {
        try one(
            "DELETE FROM waiting WHERE author = ? AND device_id = ? RETURNING root",
            [slot.author.bytes.data, slot.deviceID]
        ).map { try key($0, "root") }
    }

    // MARK: Deletions

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

    /// Returns the registrations that `author` signed. `keys` are the router's.
    func registrations(signedBy author: PublicKey, _ keys: RouterKeyNames) throws -> [HeldRegistration] {
        try registrations(where: ("devices.author = ?1", "author = ?1"), author, keys)
    }

    /// Returns the registrations that other keys made for `root`.
    func registrations(for root: PublicKey, _ keys: RouterKeyNames) throws -> [HeldRegistration] {
        try registrations(where: ("account = ?1 AND devices.author <> ?1", "root = ?1 AND author <> ?1"), root, keys)
    }

    private func registrations(
        where condition: (device: String, waiting: String),
        _ key: PublicKey,
        _ keys: RouterKeyNames
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
            let event = (row["json"] as String?).flatMap { try? Event(json: Array($0.utf8)) }
            return HeldRegistration(
                slot: RegistrationSlot(author: try self.key(row, "author"), deviceID: row["device_id"]),
                mark: try mark(row),
                kind: event?.kind ?? .pushRegistration,
                isWaiting: row["is_waiting"],
                routerKey: (event.flatMap { keys.named(by: $0.identifier) } ?? keys.current).key
            )
        }
    }

    /// Ends a registration permanently: neither it nor, with `moment`, events of its author dated up to that second can
    /// restore it.
    func end(_ registration: HeldRegistration, until moment: Int64?, _ changes: inout RegistryChanges) throws {
        let slot = registration.slot
        if registration.isWaiting {
            if let root = try stopWaiting(in: slot) { changes.keys.insert(root) }
            guard try device(in: slot) == nil else { return }
            try addTombstone(slot, registration.mark)
        } else if let device = try device(in: slot), device.mark == registration.mark {
            try evict(device, &changes)
        }
        if let moment { try bar(slot, until: moment) }
    }

    /// Refuses events for an empty slot that are dated up to that second, in seconds since 1970.
    func bar(_ slot: RegistrationSlot, until moment: Int64) throws {
        let state = try state(of: slot, for: slot.author)
        guard state.mark.map({ $0.createdAt <= moment }) ?? true, try device(in: slot) == nil else { return }
        // The lowest possible id, so that no event of the same second replaces it.
        try addTombstone(slot, SlotMark(createdAt: moment, id: EventID(Bytes32(words: (0, 0, 0, 0)))))
    }

    /// Deletes the author's events and lists dated up to that second (seconds since 1970), and refuses registrations
    /// dated up to it. The author's registrations must have ended.
    func forget(
        _ author: PublicKey,
        until moment: Int64,
        limits: RegistrationPolicy.Limits,
        _ changes: inout RegistryChanges
    ) throws {
        let key = author.bytes.data
        // Partitions add a byte.
        let lastFollowsKey = key + Data([0xFF])
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
            DELETE FROM follows WHERE author BETWEEN ?1 AND ?2 AND EXISTS
                (SELECT 1 FROM contact_lists WHERE contact_lists.author = follows.author AND created_at <= ?3)
            """,
            [key, lastFollowsKey, moment]
        )
        try execute(
            "DELETE FROM contact_lists WHERE author BETWEEN ? AND ? AND created_at <= ?",
            [key, lastFollowsKey, moment]
        )
    }
}

import Foundation
import GRDB
import Nostr

extension RegistryRows {
    /// How many tombstones an account may have before the oldest ones are folded into its floor.
    static let tombstonesPerAccount = 128

    /// What is known of a slot and its account.
    func state(of slot: RegistrationSlot) throws -> AccountState {
        let account = slot.account.bytes.data
        var state = AccountState()
        if let row = try one(
            "SELECT created_at, event_id FROM devices WHERE account = ? AND device_id = ?",
            [account, slot.deviceID]
        ) {
            state.mark = try mark(row)
            state.isRegistered = true
        } else if let row = try one(
            "SELECT created_at, event_id FROM tombstones WHERE account = ? AND device_id = ?",
            [account, slot.deviceID]
        ) {
            state.mark = try mark(row)
        }
        state.devices = try one("SELECT count(*) FROM devices WHERE account = ?", [account])?[0] ?? 0
        state.floor = try one("SELECT created_at FROM floors WHERE account = ?", [account])?[0]
        return state
    }

    /// The mark in the columns `created_at` and `event_id`.
    func mark(_ row: Row) throws -> SlotMark {
        SlotMark(createdAt: row["created_at"], id: EventID(try bytes(row, "event_id")))
    }

    func key(_ row: Row, _ column: String) throws -> PublicKey {
        PublicKey(try bytes(row, column))
    }

    private func bytes(_ row: Row, _ column: String) throws -> Bytes32 {
        let bytes = try row.withUnsafeData(named: column) { data in
            data.flatMap { $0.count == 32 ? $0.withUnsafeBytes { Bytes32(loading: $0) } : nil }
        }
        guard let bytes else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
        return bytes
    }

    /// Remembers that the slot is empty since `mark`.
    func bury(_ slot: RegistrationSlot, _ mark: SlotMark) throws {
        let account = slot.account.bytes.data
        try execute(
            "INSERT OR REPLACE INTO tombstones (account, device_id, created_at, event_id) VALUES (?, ?, ?, ?)",
            [account, slot.deviceID, mark.createdAt, mark.id.bytes.data]
        )
        let count: Int = try one("SELECT count(*) FROM tombstones WHERE account = ?", [account])?[0] ?? 0
        guard count > Self.tombstonesPerAccount else { return }
        try foldOldestTombstone(of: slot.account)
    }

    /// Forgets a tombstone and the deregistration that was kept for it.
    private func foldOldestTombstone(of key: PublicKey) throws {
        let account = key.bytes.data
        let oldest = try one(
            "SELECT device_id, created_at FROM tombstones WHERE account = ? ORDER BY created_at LIMIT 1",
            [account]
        )
        guard let oldest else { return }
        let createdAt: Int64 = oldest["created_at"]
        let deviceID: String = oldest["device_id"]
        try execute("DELETE FROM tombstones WHERE account = ? AND device_id = ?", [account, deviceID])
        try deleteEvent(in: RegistrationSlot(account: key, deviceID: deviceID))
        try execute(
            """
            INSERT INTO floors (account, created_at) VALUES (?, ?)
            ON CONFLICT (account) DO UPDATE SET created_at = max(created_at, excluded.created_at)
            """,
            [account, createdAt]
        )
    }
}

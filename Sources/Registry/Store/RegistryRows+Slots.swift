import Foundation
import GRDB
import Nostr

extension RegistryRows {
    /// How many tombstones an author may have before the oldest ones are folded into his floor.
    static let tombstonesPerAccount = 128

    /// What is known of a slot, and of the account that is to have it.
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

    /// The mark in the columns `created_at` and `event_id`.
    func mark(_ row: Row) throws -> SlotMark {
        SlotMark(createdAt: row["created_at"], id: EventID(try bytes(row, "event_id")))
    }

    func key(_ row: Row, _ column: String) throws -> PublicKey {
        PublicKey(try bytes(row, column))
    }

    private func bytes(_ row: Row, _ column: String) throws -> Bytes32 {
        try row.withUnsafeData(named: column, Self.bytes)
    }

    /// The key or id in the column of that position, which is found faster than one by its name.
    func bytes(_ row: Row, at column: Int) throws -> Bytes32 {
        try row.withUnsafeData(atIndex: column, Self.bytes)
    }

    private static func bytes(_ data: Data?) throws -> Bytes32 {
        guard let data, data.count == 32 else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
        return data.withUnsafeBytes { Bytes32(loading: $0) }
    }

    /// Remembers that the slot is empty since `mark`.
    func bury(_ slot: RegistrationSlot, _ mark: SlotMark) throws {
        let author = slot.author.bytes.data
        try execute(
            "INSERT OR REPLACE INTO tombstones (author, device_id, created_at, event_id) VALUES (?, ?, ?, ?)",
            [author, slot.deviceID, mark.createdAt, mark.id.bytes.data]
        )
        let count: Int = try one("SELECT count(*) FROM tombstones WHERE author = ?", [author])?[0] ?? 0
        guard count > Self.tombstonesPerAccount else { return }
        try foldOldestTombstone(of: slot.author)
    }

    /// Forgets a tombstone and the deregistration that was kept for it.
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
}

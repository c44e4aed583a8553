import Foundation
import GRDB
import Nostr

extension RegistryRows {
    /// Keeps the newest event of a slot, to serve it back.
    func putEvent(_ event: Event, in slot: RegistrationSlot) throws {
        try putEvent(event, of: slot.author, slot: Self.name(slot))
    }

    /// Keeps the newest event of its kind.
    func putEvent(_ event: Event) throws {
        try putEvent(event, of: event.pubkey, slot: "kind \(event.kind.rawValue)")
    }

    private func putEvent(_ event: Event, of author: PublicKey, slot: String) throws {
        try execute(
            "INSERT OR REPLACE INTO own_events (author, slot, json) VALUES (?, ?, ?)",
            [author.bytes.data, slot, String(decoding: event.json, as: UTF8.self)]
        )
    }

    func deleteEvent(in slot: RegistrationSlot) throws {
        try execute(
            "DELETE FROM own_events WHERE author = ? AND slot = ?",
            [slot.author.bytes.data, Self.name(slot)]
        )
    }

    func event(in slot: RegistrationSlot) throws -> String? {
        try one(
            "SELECT json FROM own_events WHERE author = ? AND slot = ?",
            [slot.author.bytes.data, Self.name(slot)]
        )?[0]
    }

    /// One event a slot: what waits for it is newer than what is in it.
    func events(of author: PublicKey) throws -> [String] {
        try all(
            """
            SELECT json FROM waiting WHERE author = ?1
            UNION ALL
            SELECT json FROM own_events WHERE author = ?1
                AND slot NOT IN (SELECT 'device ' || device_id FROM waiting WHERE author = ?1)
            """,
            [author.bytes.data]
        ).map { $0[0] }
    }

    private static func name(_ slot: RegistrationSlot) -> String { "device \(slot.deviceID)" }
}

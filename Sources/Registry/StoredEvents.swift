import Foundation
import GRDB
import Nostr

/// Events stored to be served to clients: current registrations, deregistrations, and the router's own events.
extension Registry {
    /// The stored events of `author`: current registrations and deregistrations of an account, or the router's own
    /// events from ``keep(_:)``.
    package func storedEvents(of author: PublicKey) throws -> [Event] {
        let texts = try store.readOnce { try $0.events(of: author) }
        return try texts.map { text in
            do {
                return try Event(json: Array(text.utf8))
            } catch {
                throw RegistryStoreError.unreadableEvent
            }
        }
    }

    /// Stores an event of the router, such as its advertisement (kind 10067), and replaces an earlier one of its kind.
    /// Returns false and keeps the stored one if that is newer.
    @discardableResult
    package func keep(_ event: Event) throws -> Bool {
        try store.write { rows in
            for text in try rows.events(of: event.pubkey) {
                if let other = try? Event(json: Array(text.utf8)), other.kind == event.kind,
                    SlotMark(other).replaces(SlotMark(event))
                {
                    return false
                }
            }
            try rows.putEvent(event)
            return true
        }
    }
}

extension RegistryRows {
    /// Stores the newest event of a slot, to be served to clients.
    func putEvent(_ event: Event, in slot: RegistrationSlot) throws {
        try putEvent(event, of: slot.author, slot: Self.name(slot))
    }

    /// Stores the newest event of its kind.
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

    /// One event per slot: a waiting registration is newer than the one in the slot.
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

import Foundation
import GRDB
import Nostr

extension RegistryRows {
    /// Keeps the newest event of a slot, to serve it back.
    func putEvent(_ event: Event, in slot: RegistrationSlot) throws {
        try putEvent(event, of: slot.account, slot: Self.name(slot))
    }

    /// Keeps the newest event of its kind.
    func putEvent(_ event: Event) throws {
        try putEvent(event, of: event.pubkey, slot: "kind \(event.kind.rawValue)")
    }

    private func putEvent(_ event: Event, of account: PublicKey, slot: String) throws {
        try execute(
            "INSERT OR REPLACE INTO own_events (account, slot, json) VALUES (?, ?, ?)",
            [account.bytes.data, slot, String(decoding: event.json, as: UTF8.self)]
        )
    }

    func deleteEvent(in slot: RegistrationSlot) throws {
        try execute(
            "DELETE FROM own_events WHERE account = ? AND slot = ?",
            [slot.account.bytes.data, Self.name(slot)]
        )
    }

    func events(of account: PublicKey) throws -> [String] {
        try all("SELECT json FROM own_events WHERE account = ? ORDER BY slot", [account.bytes.data]).map { $0[0] }
    }

    private static func name(_ slot: RegistrationSlot) -> String { "device \(slot.deviceID)" }

    /// Empties a slot, and remembers that it is empty since `mark`. Keeps `event`, the deregistration, as long as that mark.
    func clear(_ slot: RegistrationSlot, leaving mark: SlotMark, keeping event: Event? = nil) throws -> [IndexChange] {
        try deleteEvent(in: slot)
        if let event { try putEvent(event, in: slot) }
        guard let device = try device(in: slot)?.id else {
            try bury(slot, mark)
            return []
        }
        try remove(device, from: slot, leaving: mark)
        return [.remove(device, of: slot.account)]
    }

    /// Takes a device away that did not ask for it. The event that registered it will not bring it back.
    func evict(_ holder: TokenHolder) throws -> IndexChange {
        try deleteEvent(in: holder.slot)
        try remove(holder.device, from: holder.slot, leaving: holder.mark)
        return .remove(holder.device, of: holder.slot.account)
    }
}

import Foundation
import GRDB
import Nostr
import Notifications

extension RegistryRows {
    /// Empties a slot, and remembers that it is empty since `mark`. Keeps `event`, the deregistration, as long as that mark.
    func clear(
        _ slot: RegistrationSlot,
        leaving mark: SlotMark,
        keeping event: Event? = nil,
        _ changes: inout RegistryChanges
    ) throws {
        if let root = try stopWaiting(in: slot) { changes.keys.insert(root) }
        if let device = try device(in: slot) { try delete(device, &changes) }
        try deleteEvent(in: slot)
        if let event { try putEvent(event, in: slot) }
        try bury(slot, mark)
    }

    /// Takes a device away that did not ask for it. The event that registered it will not bring it back.
    func evict(_ device: RegisteredDevice, _ changes: inout RegistryChanges) throws {
        try deleteEvent(in: device.slot)
        try delete(device, &changes)
        try bury(device.slot, device.mark)
    }

    /// Takes a device away whose root identity no longer lists the key that registered it. It waits until that is so again.
    func revoke(
        _ device: RegisteredDevice,
        limits: RegistrationDesk.Limits,
        _ changes: inout RegistryChanges
    ) throws {
        let json = try event(in: device.slot)
        try deleteEvent(in: device.slot)
        try delete(device, &changes)
        if let json, try mark(waitingIn: device.slot) == nil {
            changes.keys.formUnion(
                try wait(
                    device.slot,
                    root: device.account,
                    device.mark,
                    json: json,
                    arrivedAt: device.registeredAt,
                    limits: limits
                )
            )
        }
    }

    /// Takes a device out of its slot.
    func delete(_ device: RegisteredDevice, _ changes: inout RegistryChanges) throws {
        changes.keys.formUnion(try partners(of: device.device))
        changes.keys.insert(device.account)
        changes.index.append(.remove(device.device, of: device.account))
        try execute("DELETE FROM devices WHERE id = ?", [device.device.rawValue])
        // Whom the account was followed by in its absence nobody will have seen.
        let account = device.account.bytes.data
        try execute(
            "DELETE FROM follows_read WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM devices WHERE account = ?1)",
            [account]
        )
        try execute(
            "DELETE FROM followed WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM devices WHERE account = ?1)",
            [account]
        )
        try execute(
            "DELETE FROM recipient_lists WHERE account = ?1 AND NOT EXISTS (SELECT 1 FROM devices WHERE account = ?1)",
            [account]
        )
    }
}

import Core
import Foundation
import GRDB
import Nostr
import Push

/// A record that a device is disabled, because pushes to it failed for a long time.
package struct DeviceSuspension: Hashable, Sendable {
    package var disabledAt: Timestamp
    /// Since when all pushes to it have failed.
    package var failingSince: Timestamp
}

extension Registry {
    /// Disables a device: it receives no pushes until its app registers it again or ``enable(_:)`` is called. Returns
    /// false if the device does not exist, is already disabled, or was registered again after `moment`.
    package func disable(
        _ device: DeviceID,
        failingSince: Timestamp,
        registeredBefore moment: Timestamp
    ) throws -> Bool {
        let now = now()
        return try writer.change { rows, changes in
            guard let registered = try rows.device(device), registered.registeredAt <= moment,
                try !rows.isDisabled(device)
            else { return false }
            try rows.disable(device, DeviceSuspension(disabledAt: now, failingSince: failingSince))
            changes.index.append(.remove(device, of: registered.account))
            return true
        }
    }

    /// Enables a disabled device. Returns false if it is not registered or not disabled.
    package func enable(_ device: DeviceID) throws -> Bool {
        try writer.change { rows, changes in
            guard let registered = try rows.device(device), try rows.isDisabled(device) else { return false }
            try rows.enable(device)
            guard !access.isBlocked(registered.slot.author, for: registered.account), try !rows.isOutOfUse(device)
            else { return true }
            let all = try rows.indexedDevices(ofOrBy: registered.account, opening: secrets.open(preferences:of:))
            if let found = all.first(where: { $0.device.device == device }) { changes.index.append(.put(found.device)) }
            return true
        }
    }
}

extension RegistryRows {
    func isDisabled(_ device: DeviceID) throws -> Bool {
        try one("SELECT 1 FROM disabled_devices WHERE device = ?", [device.rawValue]) != nil
    }

    /// Whether a device receives no pushes, regardless of access rules: it waits for a code or is disabled.
    func isOutOfUse(_ device: DeviceID) throws -> Bool { try waitsForCode(device) || isDisabled(device) }

    func devicesOutOfUse() throws -> Set<DeviceID> {
        let disabled = try all("SELECT device FROM disabled_devices").map { DeviceID(rawValue: $0[0]) }
        return try devicesThatWaitForCodes().union(disabled)
    }

    func disable(_ device: DeviceID, _ suspension: DeviceSuspension) throws {
        try execute(
            "INSERT INTO disabled_devices (device, disabled_at, failing_since) VALUES (?, ?, ?)",
            [device.rawValue, suspension.disabledAt, suspension.failingSince]
        )
    }

    func enable(_ device: DeviceID) throws {
        try execute("DELETE FROM disabled_devices WHERE device = ?", [device.rawValue])
    }
}

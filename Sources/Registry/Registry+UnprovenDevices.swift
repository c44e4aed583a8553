import Notifications
import Synchronization

/// Devices whose token no push service has taken yet. Anybody can make tokens up; what they cost is the operator's name
/// there.
extension Registry {
    /// Which of `devices` have such a token. Throws a ``RegistryStoreError``.
    package func unproven(among devices: [DeviceID]) throws -> Set<DeviceID> {
        guard !devices.isEmpty else { return [] }
        return try store.read { rows in try Set(devices.filter { try !rows.isProven($0) }) }
    }

    /// A push service took pushes for these devices. Where there is no room for further devices, those go first that
    /// never got any.
    package func markProven(_ devices: [DeviceID]) throws {
        try store.write { rows in
            for device in devices {
                try rows.setProven(device, true)
                try rows.markReached(device)
            }
        } afterwards: {
            addresses.withLock { $0.forget(devices) }
        }
    }
}

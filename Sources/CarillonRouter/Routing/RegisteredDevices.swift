import Delivery
import Notifications
import Registry

/// The registry as the courier knows it.
struct RegisteredDevices: DeviceDirectory {
    let registry: Registry

    func address(of device: DeviceID) throws -> DeviceAddress? {
        try registry.address(of: device)
    }

    func removeGone(_ device: DeviceID, registeredAt: Int64) throws {
        try registry.removeGone(device, registeredAt: registeredAt)
    }
}

import Delivery
import Notifications
import Registry

/// The registry as the courier knows it: registered devices, and those that the sealed ingress met.
struct RegisteredDevices: DeviceDirectory {
    let registry: Registry

    func address(of device: DeviceID) throws -> DeviceAddress? {
        device.isOfIngress ? try registry.ingressAddress(of: device) : try registry.address(of: device)
    }

    func markProven(_ devices: [DeviceID]) throws { try registry.markProven(devices) }

    func removeGone(_ device: DeviceID, registeredAt: Int64) throws {
        if device.isOfIngress {
            try registry.markIngressDeviceGone(device)
        } else {
            try registry.removeGone(device, registeredAt: registeredAt)
        }
    }
}

import Delivery
import Notifications
import Synchronization

/// The registry of a run: devices leave it when their push service calls them gone.
final class RegisteredPopulation: DeviceDirectory {
    private let addresses: Mutex<[DeviceID: DeviceAddress]>

    init(_ addresses: [DeviceID: DeviceAddress]) {
        self.addresses = Mutex(addresses)
    }

    func address(of device: DeviceID) -> DeviceAddress? { addresses.withLock { $0[device] } }

    func removeGone(_ device: DeviceID, registeredAt: Int64) {
        addresses.withLock { addresses in
            guard let known = addresses[device], known.registeredAt <= registeredAt else { return }
            addresses[device] = nil
        }
    }

    /// Those that are left.
    var devices: Set<DeviceID> { addresses.withLock { Set($0.keys) } }
}

import Delivery
import Notifications
import Synchronization

/// Devices in memory.
final class Devices: DeviceDirectory {
    private struct State {
        var addresses: [DeviceID: DeviceAddress] = [:]
        var last: Int64 = 0
    }

    private let state = Mutex(State())

    func register(_ address: DeviceAddress) -> DeviceID {
        state.withLock { state in
            state.last += 1
            let device = DeviceID(rawValue: state.last)
            state.addresses[device] = address
            return device
        }
    }

    func address(of device: DeviceID) -> DeviceAddress? { state.withLock { $0.addresses[device] } }

    func removeGone(_ device: DeviceID, registeredAt: Int64) {
        state.withLock { state in
            guard let address = state.addresses[device], address.registeredAt <= registeredAt else { return }
            state.addresses[device] = nil
        }
    }
}

import Core
import Delivery
import Push
import Synchronization
import TimeTestSupport

/// Devices in memory. Every device exists until it is removed.
final class FakeDirectory: DeviceDirectory {
    private struct State {
        var removed: Set<DeviceID> = []
        var registeredAt: [DeviceID: Timestamp] = [:]
        var unproven: Set<DeviceID> = []
        var modes: [DeviceID: Mode] = [:]
        var isFailing = false
    }

    private let state = Mutex(State())
    private let platform: String

    init(platform: String = "ios") {
        self.platform = platform
    }

    func address(of device: DeviceID) throws -> DeviceAddress? {
        try state.withLock { state in
            if state.isFailing { throw DiskFailure() }
            guard !state.removed.contains(device) else { return nil }
            var address = DeviceAddress(
                platform: platform,
                app: "default",
                token: "token-\(device.rawValue)",
                registeredAt: state.registeredAt[device] ?? 1,
                isProven: !state.unproven.contains(device)
            )
            address.mode = state.modes[device]
            return address
        }
    }

    func register(_ device: DeviceID, mode: Mode) { state.withLock { $0.modes[device] = mode } }

    func removeGone(_ device: DeviceID, registeredAt: Timestamp) throws {
        try state.withLock { state in
            if state.isFailing { throw DiskFailure() }
            guard state.registeredAt[device] ?? 1 <= registeredAt else { return }
            state.removed.insert(device)
        }
    }

    func register(_ device: DeviceID, at time: Timestamp, isProven: Bool = true) {
        state.withLock { state in
            state.removed.remove(device)
            if isProven { state.unproven.remove(device) } else { state.unproven.insert(device) }
            state.registeredAt[device] = time
        }
    }

    func fail(_ isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }

    var removed: Set<DeviceID> { state.withLock { $0.removed } }
}

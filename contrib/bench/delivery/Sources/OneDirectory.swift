import Delivery
import Notifications

/// Every device has the same address.
struct OneDirectory: DeviceDirectory {
    private let address = DeviceAddress(
        platform: "ios",
        app: "default",
        token: String(repeating: "ab", count: 32),
        registeredAt: 1
    )

    func address(of device: DeviceID) -> DeviceAddress? { address }

    func removeGone(_ device: DeviceID, registeredAt: Int64) {}
}

import Core
import Delivery
import DeliveryTestSupport
import Foundation
import Push
import TimeTestSupport

/// Devices by number, each with a separate URL, and a delivery for each.
struct Devices: DeviceDirectory {
    private var addresses: [DeviceID: DeviceAddress] = [:]

    /// Adds `count` devices of an app and returns their deliveries.
    mutating func add(_ count: Int, app: String, url: (Int) -> String, now: Timestamp) -> [Delivery] {
        (0..<count).map { number in
            let device = DeviceID(rawValue: Int64(addresses.count + 1))
            addresses[device] = DeviceAddress(platform: "unifiedpush", app: app, token: url(number), registeredAt: 1)
            return Delivery(
                id: "\(UUID().uuidString.lowercased())",
                device: device,
                platform: "unifiedpush",
                app: app,
                notification: .wake(.dm, urgency: .high),
                acceptedAt: now
            )
        }
    }

    func address(of device: DeviceID) throws -> DeviceAddress? { addresses[device] }

    func removeGone(_ device: DeviceID, registeredAt: Timestamp) throws {}
}

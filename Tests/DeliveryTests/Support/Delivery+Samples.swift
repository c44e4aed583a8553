import Core
import Delivery
import DeliveryTestSupport
import Foundation
import Push
import TimeTestSupport

extension Delivery {
    static func sample(
        _ number: Int,
        device: Int64 = 1,
        platform: String = "ios",
        app: String = "default",
        acceptedAt: Timestamp = 1_700_000_000_000,
        expiresAt: Timestamp = 0
    ) -> Delivery {
        var notification = Notification.wake(.dm, urgency: .high)
        notification.expiresAt = expiresAt
        return Delivery(
            id: "\(String(format: "00000000-0000-4000-8000-%012d", number))",
            device: DeviceID(rawValue: device),
            platform: platform,
            app: app,
            notification: notification,
            acceptedAt: acceptedAt
        )
    }
}

extension Delivery {
    /// The number it was made of.
    var number: Int { Int(id.description.suffix(12)) ?? -1 }
}

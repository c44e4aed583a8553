import Notifications

/// One notification for one device: what the outbox keeps until a final outcome.
package struct Delivery: Sendable, Hashable {
    /// A UUID in canonical lower case, the same on every attempt; `apns-id` and the like are this.
    package var id: String
    package var device: DeviceID
    /// The device's platform and app: they choose the queue. The address itself is looked up at each attempt, so that a
    /// renewed token is used and a removed device is left alone.
    package var platform: String
    package var app: String
    package var notification: Notification
    /// When it was accepted, in milliseconds since 1970.
    package var acceptedAt: Int64

    package init(
        id: String,
        device: DeviceID,
        platform: String,
        app: String,
        notification: Notification,
        acceptedAt: Int64
    ) {
        self.id = id
        self.device = device
        self.platform = platform
        self.app = app
        self.notification = notification
        self.acceptedAt = acceptedAt
    }
}

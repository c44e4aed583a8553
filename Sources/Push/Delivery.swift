import Core

/// One notification for one device; the outbox keeps it until a final outcome.
package struct Delivery: Sendable, Hashable {
    package var id: DeliveryID
    package var device: DeviceID
    /// The device's platform and app: they choose the queue. The address itself is looked up at each attempt, so that a
    /// renewed token is used and a removed device is left alone.
    package var platform: String
    package var app: String
    package var notification: Notification
    /// When it was accepted.
    package var acceptedAt: Timestamp

    package init(
        id: DeliveryID,
        device: DeviceID,
        platform: String,
        app: String,
        notification: Notification,
        acceptedAt: Timestamp
    ) {
        self.id = id
        self.device = device
        self.platform = platform
        self.app = app
        self.notification = notification
        self.acceptedAt = acceptedAt
    }
}

/// Sends deliveries for one platform of one app. The plugin host's instances do.
package protocol Transport: Sendable {
    /// Makes attempts that are due at the same moment, and calls the completion of each exactly once, from any thread,
    /// perhaps before this returns: the host keeps a deadline, so a plugin that never answers ends as a retry.
    func deliver(_ attempts: [DeliveryAttempt])
}

/// One attempt at a delivery.
package struct DeliveryAttempt: Sendable {
    package let delivery: Delivery
    package let address: DeviceAddress
    /// Called exactly once, from any thread.
    package let completion: @Sendable (Outcome) -> Void

    package init(
        _ delivery: Delivery,
        to address: DeviceAddress,
        completion: @escaping @Sendable (Outcome) -> Void
    ) {
        self.delivery = delivery
        self.address = address
        self.completion = completion
    }
}

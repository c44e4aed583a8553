import Core

/// One notification for one device; the outbox keeps it until a final outcome.
package struct Delivery: Sendable, Hashable {
    package var id: DeliveryID
    package var device: DeviceID
    /// The device's platform and app, which determine the queue. The address is looked up at each attempt, so that a
    /// renewed token is used and a removed device gets no push.
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

/// Sends deliveries for one platform of one app. Instances of the plugin host conform to it.
package protocol Transport: Sendable {
    /// Sends attempts that are due at the same time. Calls each completion exactly once, from any thread, perhaps
    /// before this returns. The host enforces a timeout, so a plugin that does not answer results in a retry.
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

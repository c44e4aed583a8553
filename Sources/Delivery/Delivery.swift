import Notifications
import Units

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

    /// The queue that it waits in.
    package var queue: QueueName { QueueName(platform: platform, app: app) }

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

/// Names a queue of deliveries. Each platform of each app has its own, so that one push service never starves another.
package struct QueueName: Hashable, Sendable {
    package var platform: String
    package var app: String

    package init(platform: String, app: String) {
        self.platform = platform
        self.app = app
    }
}

/// What the courier needs from the registry.
package protocol DeviceDirectory: Sendable {
    /// Where `device` is now; nil when it is no longer registered.
    func address(of device: DeviceID) throws -> DeviceAddress?
    /// Forgets a device that its push service called gone. `registeredAt` belongs to the address that was tried: a
    /// device that was registered anew since then stays.
    func removeGone(_ device: DeviceID, registeredAt: Timestamp) throws
    /// Notes that the push service accepted a push for the token of each of `devices` for the first time.
    func markProven(_ devices: [DeviceID]) throws
}

extension DeviceDirectory {
    /// For directories in which every device counts as proven.
    package func markProven(_ devices: [DeviceID]) throws {}
}

/// Sends deliveries for one platform of one app. Implemented by the plugin host.
package protocol Transport: Sendable {
    /// Attempts `delivery` and calls `completion` exactly once, from any thread, perhaps before this returns: the host
    /// behind it keeps a deadline, so a plugin that never answers ends as a retry.
    func deliver(_ delivery: Delivery, to address: DeviceAddress, completion: @escaping @Sendable (Outcome) -> Void)

    /// Whether ``deliver(_:)`` is worth the collecting. The default is false.
    var takesMany: Bool { get }

    /// Attempts several that are due at the same moment. The default attempts each by itself.
    func deliver(_ attempts: [DeliveryAttempt])
}

extension Transport {
    package var takesMany: Bool { false }

    package func deliver(_ attempts: [DeliveryAttempt]) {
        for attempt in attempts { deliver(attempt.delivery, to: attempt.address, completion: attempt.completion) }
    }
}

/// An attempt as a transport is asked to make it.
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

import Notifications

/// Whether there is room for one more delivery. For one thread that makes deliveries in batches.
package protocol DeliveryRoom: Sendable {
    /// Takes room for a delivery to a device of `queue`; false when it has to wait until others have left. What is taken counts
    /// until ``settle()``.
    func take(for device: DeviceID, of queue: QueueName) -> Bool

    /// What was taken is in the outbox by now, or will not be.
    func settle()
}

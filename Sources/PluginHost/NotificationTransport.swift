import Notifications

/// Delivers to one platform of one app: what a courier needs of a plugin's instance.
package protocol NotificationTransport: Sendable {
    /// Attempts to deliver `notification` under the message id `id`, the same on every attempt, and calls `completion`
    /// exactly once, on any thread, perhaps before this returns.
    func deliver(
        _ notification: Notification,
        id: String,
        to address: DeviceAddress,
        completion: @escaping @Sendable (Outcome) -> Void
    )
}

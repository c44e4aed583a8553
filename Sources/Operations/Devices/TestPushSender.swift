import Delivery
import Notifications

/// By what a test push goes out: a platform's plugin with the configured credentials.
package protocol TestPushSender: Sendable {
    /// The mode of devices that asked for none.
    var defaultMode: Mode { get }

    /// Whether the platform's transport seals by itself, to keys of the registration.
    func seals(_ platform: String) -> Bool

    /// The push service's answer. Throws an ``OperationFailure`` when nothing serves the platform of that app.
    func send(
        _ notification: Notifications.Notification,
        id: String,
        to address: DeviceAddress
    ) async throws(OperationFailure) -> Outcome
}

import Delivery
import Logging
import Notifications
import PluginHost
import Registry
import RouterConfiguration
import Units

/// A push by which an operator sees whether a device can be reached. It belongs to no event, and no outcome of it
/// changes the registration.
struct TestPush {
    /// How long a push service may try: whoever tests is waiting.
    private static let lifetime: Duration = .minutes(5)

    let mode: Mode
    let now: Timestamp

    /// What to say. Its texts are the same in every language: nobody but the operator is meant.
    var notification: Notifications.Notification {
        let texts = NeutralTexts(title: "Carillon", body: "This is a test.")
        var notification =
            switch mode {
            case .wake: Notifications.Notification.wake(.mention, urgency: .high)
            case .nudge: Notifications.Notification.nudge(.mention, urgency: .high, texts)
            case .sealed, .alert:
                Notifications.Notification(
                    mode: mode,
                    signal: .mention,
                    urgency: .high,
                    title: texts.title,
                    body: texts.body,
                    neutral: texts
                )
            }
        notification.expiresAt = now + Self.lifetime
        return notification
    }
}

/// By what a test push goes out: a platform's plugin with the configured credentials.
package protocol TestPushSender: Sendable {
    /// The mode of devices that asked for none.
    var defaultMode: Mode { get }

    /// Whether the platform's transport seals by itself, to keys of the registration.
    func seals(_ platform: String) -> Bool

    /// The push service's answer. Throws an ``OperationFailure`` when nothing serves the platform of that app.
    func send(
        _ notification: Notifications.Notification,
        id: DeliveryID,
        to address: DeviceAddress
    ) async throws(OperationFailure) -> Outcome
}

/// Sends test pushes without a router: each loads its platform's plugin.
struct ConfiguredTestPushes: TestPushSender {
    let configuration: Configuration

    var defaultMode: Mode { configuration.defaultMode }

    /// Where the plugin cannot be loaded it does not matter.
    func seals(_ platform: String) -> Bool {
        let log = Logger(label: "carillon.push") { _ in SwiftLogNoOpLogHandler() }
        return (try? configuration.plugins.load(log: log))?.encryptingPlatforms.contains(platform) ?? false
    }

    func send(
        _ notification: Notifications.Notification,
        id: DeliveryID,
        to address: DeviceAddress
    ) async throws(OperationFailure) -> Outcome {
        let platform = LonePlatform(configuration: configuration, app: address.app, platform: address.platform)
        do {
            return try await platform.withTransport { _, transport in
                await withCheckedContinuation { continuation in
                    transport.deliver(notification, id: id, to: address) { continuation.resume(returning: $0) }
                }
            }
        } catch let failure as OperationFailure {
            throw failure
        } catch {
            throw .unavailable("\(error)")
        }
    }
}

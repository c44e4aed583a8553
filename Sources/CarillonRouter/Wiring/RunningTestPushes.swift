import Console
import Delivery
import Notifications
import Operations
import RouterConfiguration
import Units

/// Sends test pushes by the transports of a running router, beside the courier: they wait in no queue, and their
/// outcomes are nobody's but the operator's.
struct RunningTestPushes: TestPushSender {
    let settings: ActiveSettings
    let encryptingPlatforms: @Sendable () -> Set<String>
    let transport: @Sendable (QueueName) -> (any Transport)?
    let now: @Sendable () -> Timestamp

    var defaultMode: Mode { settings.configuration.defaultMode }

    func seals(_ platform: String) -> Bool { encryptingPlatforms().contains(platform) }

    func send(
        _ notification: Notifications.Notification,
        id: DeliveryID,
        to address: DeviceAddress
    ) async throws(OperationFailure) -> Outcome {
        guard let transport = transport(QueueName(platform: address.platform, app: address.app)) else {
            throw .unavailable(
                Sentence(
                    "not-served",
                    ["queue": "\(address.platform)/\(address.app)"],
                    "nothing serves \(address.platform) of the app \(address.app): see the router's log"
                )
            )
        }
        let delivery = Delivery(
            id: id,
            device: DeviceID(rawValue: 0),
            platform: address.platform,
            app: address.app,
            notification: notification,
            acceptedAt: now()
        )
        return await withCheckedContinuation { continuation in
            transport.deliver(delivery, to: address) { continuation.resume(returning: $0) }
        }
    }
}

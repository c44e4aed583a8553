import Logging
import Notifications
import Pipeline
import Registry
import Sealing

/// Seals notifications to what registrations named.
struct DeviceSealer: NotificationSealer {
    let registry: Registry
    let sealer: Sealer
    let logger: Logger

    func seal(
        _ notification: Notifications.Notification,
        id: String,
        for device: DeviceID
    ) -> Notifications.Notification? {
        do {
            guard let key = try registry.sealingKey(of: device) else { return nil }
            return try sealer.seal(notification, id: id, for: key)
        } catch {
            // Not louder: whoever writes long notes could fill the log.
            logger.debug(
                "A notification could not be sealed and says less instead",
                metadata: ["delivery": "\(id)", "device": "\(device.rawValue)", "reason": "\(error)"]
            )
            return nil
        }
    }
}

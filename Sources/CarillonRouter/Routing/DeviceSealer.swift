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

    func keyMark(of device: DeviceID) -> Int64? {
        do {
            return try registry.sealingKey(of: device)?.mark
        } catch {
            // What was sealed before says less then.
            logger.debug(
                "The key that notifications to a device are sealed to could not be read",
                metadata: ["device": "\(device.rawValue)", "reason": "\(error)"]
            )
            return nil
        }
    }
}

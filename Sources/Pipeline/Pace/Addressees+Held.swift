import Delivery
import Notifications

/// What waits, though its device may be registered anew before it goes.
extension Addressees {
    /// A notification as it is held for a device.
    func held(_ notification: Notification, for device: DeviceID) -> HeldNotification {
        HeldNotification(notification, sealedTo: notification.sealed.isEmpty ? nil : sealer?.keyMark(of: device))
    }

    /// What was held as it may go now: the device may show less by now, or have another key to open it with.
    func renewed(_ held: HeldNotification, id: String, for addressee: Addressee) -> Notification {
        var notification = held.notification
        while notification.mode > addressee.mode, let stricter = notification.stricter { notification = stricter }
        guard notification.mode == .sealed else { return notification }
        if notification.sealed.isEmpty {
            return addressee.isSealedByTransport ? notification : sealed(notification, id: id, for: addressee.device)
        }
        guard let key = held.sealedTo, key != sealer?.keyMark(of: addressee.device) else { return notification }
        return notification.stricter ?? notification
    }
}

import Notifications
import Pipeline
import Synchronization

/// Seals by writing down what it was given, unless it is told to refuse.
final class FakeSealer: NotificationSealer {
    let given = Mutex<[(id: String, device: DeviceID, notification: Notification)]>([])
    let refuses: Bool
    /// Which key all devices have.
    let key = Mutex<Int64>(1)

    init(refuses: Bool = false) {
        self.refuses = refuses
    }

    func seal(_ notification: Notification, id: String, for device: DeviceID) -> Notification? {
        given.withLock { $0.append((id, device, notification)) }
        guard !refuses else { return nil }
        return Notification(
            mode: .sealed,
            signal: notification.signal,
            urgency: notification.urgency,
            neutral: notification.neutral,
            sealed: "{\"for\":\(device.rawValue)}"
        )
    }

    func keyMark(of device: DeviceID) -> Int64? { key.withLock(\.self) }
}

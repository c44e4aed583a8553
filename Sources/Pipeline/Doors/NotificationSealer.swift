import Notifications

/// Who encrypts notifications to devices (``Mode/sealed``). Called on the pipeline's thread; must not block for long.
package protocol NotificationSealer: Sendable {
    /// The envelope around `notification`, which holds everything in the clear, for `device`: mode sealed, and no more of it
    /// readable than a push service may see. `id` is the delivery's. Nil when it cannot be sealed: the stricter form goes out
    /// then.
    func seal(_ notification: Notification, id: String, for device: DeviceID) -> Notification?

    /// Tells the key that notifications to `device` are sealed to now from others, and says nothing else of it; nil when there is none.
    func keyMark(of device: DeviceID) -> Int64?
}

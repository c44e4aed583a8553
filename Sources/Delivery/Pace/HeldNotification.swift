import Notifications

/// What the only one says of the events that wait for a device.
package struct HeldNotification: Sendable, Hashable {
    package var notification: Notification
    /// A mark of the key that it is encrypted to; nil where it is not, or where nobody took note of that.
    package var sealedTo: Int64?

    package init(_ notification: Notification, sealedTo: Int64? = nil) {
        self.notification = notification
        self.sealedTo = sealedTo
    }
}

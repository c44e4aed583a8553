import Cipher
import Notifications

/// A push message that a stranger brought for one device. The token is secret and stays out of logs.
package struct IngressPush: Sendable, Equatable, Concealed {
    /// The device token as lower-case hex digits.
    package var deviceToken: String
    /// Whether the token is one of Apple's development environment.
    package var isSandbox: Bool
    package var notification: Notification

    package init(deviceToken: String, isSandbox: Bool, notification: Notification) {
        self.deviceToken = deviceToken
        self.isSandbox = isSandbox
        self.notification = notification
    }
}

import Cipher
import Listening
import Notifications

/// A push message that a stranger brought for one device. The token is secret and stays out of logs.
package struct IngressPush: Sendable, Equatable, Concealed {
    /// The device token as lower-case hex digits.
    package var deviceToken: String
    /// Whether the token is one of Apple's development environment.
    package var isSandbox: Bool
    package var notification: Notification
    /// Who brought it; nil where that is not known.
    package var client: ClientAddress?

    package init(
        deviceToken: String,
        isSandbox: Bool,
        notification: Notification,
        client: ClientAddress? = nil
    ) {
        self.deviceToken = deviceToken
        self.isSandbox = isSandbox
        self.notification = notification
        self.client = client
    }
}

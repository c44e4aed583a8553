import Cipher
import Listening
import Notifications

/// Stores the ingress's messages: knows its devices, and the outbox.
package protocol IngressBackend: Sendable {
    /// Stores `pushes` and returns as many answers; a push that is ``IngressAnswer/queued`` survives a power cut.
    ///
    /// Called on the ingress's own queue, one call at a time, and may wait for the disk.
    func keep(_ pushes: [IngressPush]) -> [IngressAnswer]
}

/// A push message from a stranger for one device. The token is secret and stays out of logs.
package struct IngressPush: Sendable, Equatable, Concealed {
    /// The device token as lower-case hex digits.
    package var deviceToken: String
    /// Whether the token belongs to the platform's development environment.
    package var isSandbox: Bool
    package var notification: Notification
    /// The client that sent it; nil where that is not known.
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

/// The result for a push message, which decides the answer to its sender.
package enum IngressAnswer: Sendable, Hashable, CaseIterable {
    /// It is on disk and will be attempted.
    case queued
    /// Not now, for reasons of our own: the sender should try again.
    case busy
    /// Most of this client's recent device tokens were refused.
    case mistrusted
    /// The push service called the device token dead.
    case gone
    /// No push service will ever accept this device token.
    case unknownDevice
}

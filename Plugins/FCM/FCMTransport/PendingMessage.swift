import PluginKit

/// A message on its way to FCM.
struct PendingMessage: Sendable {
    let ticket: Ticket
    /// The whole body of the request; the same on every attempt.
    let body: [UInt8]
    /// FCM refused the access token of the first attempt.
    var isSecondAttempt = false
}

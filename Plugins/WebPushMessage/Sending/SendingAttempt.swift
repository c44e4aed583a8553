internal import PluginKit

/// A message on its way, and the keys that are left to try.
struct SendingAttempt: Sendable {
    /// All requests of a message fit into what the host waits for a delivery, however slow a user's push service is and however
    /// many keys there are to try. In milliseconds.
    private static let longestSending: Int64 = 55_000
    private static let longestRequest: Int64 = 30_000
    private static let shortestRequest: Int64 = 5_000

    let ticket: Ticket
    let message: SignedMessage
    /// Indices of tokens that are left to try; the first is in use. Empty: unsigned.
    var tokens: [Int]
    /// What the first request was signed with.
    let first: Int?
    /// Whether the registration says which key it is.
    let isKeyNamed: Bool
    /// In milliseconds since 1970.
    let startedAt: Int64
    /// Whether the token in use was refused once and replaced.
    var wasRenewed = false

    /// How long the next request may take, in milliseconds; nil when there is no time for one.
    func timeout(now: Int64) -> UInt32? {
        let left = Self.longestSending - max(0, now - startedAt)
        return left < Self.shortestRequest ? nil : UInt32(min(left, Self.longestRequest))
    }
}

import Nostr

/// An event that is to be published at one relay.
struct Publication: Sendable {
    let event: Event
    var deadline: Int64
    /// When to send it; nil while an answer is awaited.
    var sendAt: Int64?
    var failures = 0
    var awaitsAuthentication = false
}

import Nostr

/// Stored events that somebody asked for.
struct Fetch: Sendable {
    let filters: [Filter]
    let deadline: Int64
    var subscription: SubscriptionID?
    var retryAt: Int64 = 0
    var failures = 0
    var awaitsAuthentication = false
}

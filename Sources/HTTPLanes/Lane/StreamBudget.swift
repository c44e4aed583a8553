/// How many streams one HTTP/2 connection may have open, and how many it has (RFC 9113, sections 5.1.1 and 5.1.2).
///
/// Before the peer's SETTINGS arrive exactly one stream is allowed: APNs grants no more until a provider token has proved
/// good, and a connection that overstepped it would be closed.
struct StreamBudget {
    private(set) var inFlight = 0
    /// How many of these the peer has heard of. When it lowers its limit, the others have to wait.
    private(set) var sent = 0
    private(set) var allowed = 1
    /// The peer has said GOAWAY, or stream ids run out: what is open may finish, nothing new starts.
    private(set) var isDraining = false
    private let ceiling: Int

    /// - Parameter ceiling: What this side keeps open at most, whatever the peer allows.
    init(ceiling: Int) {
        self.ceiling = ceiling
    }

    /// How many streams may be opened now.
    var free: Int { isDraining ? 0 : max(0, allowed - inFlight) }

    mutating func settingsReceived(maxConcurrentStreams: UInt32) {
        allowed = min(Int(maxConcurrentStreams), ceiling)
    }

    mutating func opened(streamID: Int32) {
        inFlight += 1
        // Half of the id space is left unused, far from where a peer may start to count carelessly.
        if streamID >= 1 << 30 { isDraining = true }
    }

    mutating func startedSending() {
        sent += 1
    }

    mutating func closed(wasSent: Bool) {
        inFlight -= 1
        if wasSent { sent -= 1 }
    }

    mutating func drain() {
        isDraining = true
    }
}

import Units

/// Watches a connection's silence: when to PING it, when to give it up, when to close it because it is idle.
struct ConnectionHealth {
    enum Verdict: Equatable {
        /// Check again at `next` at the latest.
        case fine(next: Deadline)
        case ping(next: Deadline)
        case dead
        case idle
    }

    private let settings: ConnectionSettings
    private var lastReceived: Deadline
    private var lastBusy: Deadline
    private var pingSent: Deadline?
    private var pingWanted = false

    init(settings: ConnectionSettings, now: Deadline) {
        self.settings = settings
        self.lastReceived = now
        self.lastBusy = now
    }

    mutating func received(now: Deadline) {
        lastReceived = now
        pingSent = nil
        pingWanted = false
    }

    /// Notes that a request goes out. After a long silence the peer may be gone, so it gets a PING at the same time.
    /// Returns true when a check should follow at once.
    mutating func submitted(now: Deadline) -> Bool {
        lastBusy = now
        guard pingSent == nil, !pingWanted, now - lastReceived >= settings.doubtAfterSilence else { return false }
        pingWanted = true
        return true
    }

    /// Notes that a request sent at `submittedAt` timed out. If nothing has arrived since, the connection is in doubt.
    mutating func timedOut(submittedAt: Deadline) {
        if pingSent == nil, lastReceived <= submittedAt { pingWanted = true }
    }

    mutating func check(now: Deadline, inFlight: Int) -> Verdict {
        if inFlight > 0 { lastBusy = now }
        if let pingSent {
            let limit = pingSent + settings.pingTimeout
            return now >= limit ? .dead : .fine(next: limit)
        }
        if pingWanted || now - lastReceived >= settings.pingAfterSilence {
            pingWanted = false
            pingSent = now
            return .ping(next: now + settings.pingTimeout)
        }
        if now - lastBusy >= settings.idleTimeout { return .idle }
        return .fine(next: min(lastReceived + settings.pingAfterSilence, lastBusy + settings.idleTimeout))
    }
}

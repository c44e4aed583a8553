/// Stops a queue whose credentials are bad, and lets one delivery out from time to time to see whether they were mended.
struct PauseGate: Sendable {
    enum State: Sendable, Equatable {
        case open
        /// Until a time in milliseconds since 1970.
        case paused(until: Int64)
        /// One attempt at a time, until one tells that the credentials are good.
        case probing
    }

    private(set) var state = State.open
    private var length: GrowingPause

    init(firstPause: Int64, longestPause: Int64) {
        length = GrowingPause(first: firstPause, longest: longestPause)
    }

    /// How many attempts may be under way at a time; a pause that is over becomes a probe.
    mutating func allowance(of limit: Int, now: Int64) -> Int {
        switch state {
        case .open: return limit
        case .probing: return 1
        // A pause that is longer than any was begun before the clock was set back.
        case .paused(let until) where until > now && until - now <= length.longest: return 0
        case .paused:
            state = .probing
            return 1
        }
    }

    /// Begins a pause and returns its end; nil when the queue is paused already.
    mutating func pause(now: Int64) -> Int64? {
        if case .paused = state { return nil }
        let until = now + length.next()
        state = .paused(until: until)
        return until
    }

    /// An attempt showed that credentials are good; true when that ends a pause. Attempts that began before the pause say
    /// nothing, so they count only while probing.
    mutating func settle() -> Bool {
        guard state == .probing else { return false }
        state = .open
        length.reset()
        return true
    }

    mutating func follow(clockSetBackBy step: Int64) {
        guard case .paused(var until) = state else { return }
        until.setBack(by: step)
        state = .paused(until: until)
    }

    /// Probes at once, because something was mended by hand.
    mutating func lift() {
        guard state != .open else { return }
        state = .probing
        length.reset()
    }
}

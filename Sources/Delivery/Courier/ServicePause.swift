/// Leaves a push service in peace that asked for it for everything that goes to it, as one does whose quota is used up.
/// Then a few attempts go out at a time, and one more with each that arrives, until all may.
struct ServicePause: Sendable {
    enum State: Sendable, Equatable {
        case open
        /// Until a time in milliseconds since 1970.
        case paused(until: Int64)
        /// So many attempts at a time; none arrived yet, or some did.
        case probing(places: Int, hasArrived: Bool)
    }

    private(set) var state = State.open
    private var length: GrowingPause
    private let longest: Int64

    /// `length` is for services that do not say how long; `longest` is the longest that one is obeyed, in milliseconds.
    init(length: GrowingPause, longest: Int64) {
        self.length = length
        self.longest = longest
    }

    /// How many attempts may be under way at a time; a pause that is over becomes a probe.
    mutating func allowance(of limit: Int, now: Int64) -> Int {
        switch state {
        case .open: return limit
        case .probing(let places, _): return min(places, limit)
        // A pause that is longer than any was begun before the clock was set back.
        case .paused(let until) where until > now && until - now <= max(longest, length.longest): return 0
        case .paused:
            state = .probing(places: Self.firstPlaces, hasArrived: false)
            return min(Self.firstPlaces, limit)
        }
    }

    /// Begins a pause and returns its end; nil when one is under way, which becomes longer if the service asks for more.
    /// `retryAfter` is what it asked for, in milliseconds, or 0.
    mutating func pause(retryAfter: Int64, now: Int64) -> Int64? {
        let asked = now + min(retryAfter, longest)
        if case .paused(let until) = state {
            if retryAfter > 0 { state = .paused(until: max(until, asked)) }
            return nil
        }
        let until = retryAfter > 0 ? asked : now + length.next()
        state = .paused(until: until)
        return until
    }

    /// An attempt arrived; true for the first after a pause. Attempts that began before the pause say nothing, so they
    /// count only while probing.
    mutating func arrived(limit: Int) -> Bool {
        guard case .probing(let places, let hasArrived) = state else { return false }
        if places + 1 >= limit {
            state = .open
            length.reset()
        } else {
            state = .probing(places: places + 1, hasArrived: true)
        }
        return !hasArrived
    }

    mutating func follow(clockSetBackBy step: Int64) {
        guard case .paused(var until) = state else { return }
        until.setBack(by: step)
        state = .paused(until: until)
    }

    /// Probes at once, because something was mended by hand.
    mutating func lift() {
        guard case .paused = state else { return }
        state = .probing(places: Self.firstPlaces, hasArrived: false)
        length.reset()
    }

    private static let firstPlaces = 4
}

import Units

/// A time in which nothing is attempted: of a queue, a push service, a host or an endpoint.
struct Pause: Sendable {
    /// The length of pauses that nobody specified: twice as long each time, up to a limit.
    struct Length: Sendable {
        private let first: Duration
        let longest: Duration
        private var upcoming: Duration

        init(first: Duration, longest: Duration) {
            self.first = min(first, longest)
            self.longest = longest
            upcoming = self.first
        }

        mutating func next() -> Duration {
            defer { upcoming = min(upcoming * 2, longest) }
            return upcoming
        }

        mutating func reset() { upcoming = first }
    }

    /// When the last pause ends or ended; the distant past before the first.
    private(set) var end = Timestamp.distantPast
    private let longest: Duration

    /// `longest` is the longest that a pause can be.
    init(longest: Duration) {
        self.longest = longest
    }

    /// The end of the pause while it lasts, else nil. A pause longer than the longest began before the clock was set
    /// back, and is over.
    func end(at now: Timestamp) -> Timestamp? { end > now && end - now <= longest ? end : nil }

    /// Begins a pause and returns its end.
    @discardableResult
    mutating func begin(lasting length: Duration, now: Timestamp) -> Timestamp {
        end = now + min(length, longest)
        return end
    }

    /// Lets a pause last for `length` from `now` on, if that is longer than so far.
    mutating func prolong(lasting length: Duration, now: Timestamp) { end = max(end, now + min(length, longest)) }

    mutating func follow(clockSetBackBy step: Duration) { end -= step }
}

/// How many attempts a queue may have under way: all, none during a pause, or a few that probe whether all is well
/// again.
struct Throttle: Sendable {
    enum State: Sendable, Equatable {
        case open
        case paused(until: Timestamp)
        /// So many attempts at a time; whether one of them succeeded yet.
        case probing(places: Int, hasSucceeded: Bool)
    }

    /// How a queue returns to all attempts.
    enum Recovery: Sendable {
        /// One attempt probes; its success opens the queue.
        case atOnce
        /// A few attempts probe; each success adds one more.
        case stepwise
    }

    private enum Phase {
        case open
        case paused
        case probing(places: Int, hasSucceeded: Bool)
    }

    private static let firstPlaces = 4

    private var phase = Phase.open
    private var pause: Pause
    private var length: Pause.Length
    private let longestAsked: Duration
    private let recovery: Recovery

    /// For a queue whose credentials are bad. `length` is that of pauses.
    static func credentials(_ length: Pause.Length) -> Throttle {
        Throttle(length, longestAsked: length.longest, recovery: .atOnce)
    }

    /// For a push service that asks for pauses of everything it gets, such as one whose quota is used up. `length` is
    /// that of pauses for which it does not say how long, `longestAsked` the longest that it is obeyed.
    static func service(_ length: Pause.Length, longestAsked: Duration) -> Throttle {
        Throttle(length, longestAsked: longestAsked, recovery: .stepwise)
    }

    private init(_ length: Pause.Length, longestAsked: Duration, recovery: Recovery) {
        self.length = length
        self.longestAsked = longestAsked
        self.recovery = recovery
        pause = Pause(longest: max(longestAsked, length.longest))
    }

    var state: State {
        switch phase {
        case .open: .open
        case .paused: .paused(until: pause.end)
        case .probing(let places, let hasSucceeded): .probing(places: places, hasSucceeded: hasSucceeded)
        }
    }

    /// When attempts are made again; nil when it is not paused.
    var pausedUntil: Timestamp? { if case .paused = phase { pause.end } else { nil } }

    /// How many attempts may be under way at a time, of `limit` at most. A pause that is over becomes a probe.
    mutating func allowance(of limit: Int, now: Timestamp) -> Int {
        switch phase {
        case .open: return limit
        case .probing(let places, _): return min(places, limit)
        case .paused where pause.end(at: now) != nil: return 0
        case .paused:
            probe()
            return allowance(of: limit, now: now)
        }
    }

    /// Begins a pause and returns its end; nil when it is paused already, and then the pause is only prolonged.
    /// `asked` is how long the push service asked for, or zero.
    mutating func pause(asked: Duration = .zero, now: Timestamp) -> Timestamp? {
        if case .paused = phase {
            if asked > .zero { pause.prolong(lasting: min(asked, longestAsked), now: now) }
            return nil
        }
        phase = .paused
        return pause.begin(lasting: asked > .zero ? min(asked, longestAsked) : length.next(), now: now)
    }

    /// Notes that an attempt succeeded; true for the first after a pause. Attempts that began before the pause prove
    /// nothing, so only those count that end while it is probing.
    mutating func succeed(limit: Int) -> Bool {
        guard case .probing(let places, let hasSucceeded) = phase else { return false }
        if recovery == .atOnce || places + 1 >= limit {
            phase = .open
            length.reset()
        } else {
            phase = .probing(places: places + 1, hasSucceeded: true)
        }
        return !hasSucceeded
    }

    /// Probes at once, because somebody repaired something.
    mutating func lift() {
        switch (phase, recovery) {
        case (.paused, _), (.probing, .atOnce):
            probe()
            length.reset()
        case (.open, _), (.probing, .stepwise): break
        }
    }

    mutating func follow(clockSetBackBy step: Duration) { pause.follow(clockSetBackBy: step) }

    private mutating func probe() {
        phase = .probing(places: recovery == .atOnce ? 1 : Self.firstPlaces, hasSucceeded: false)
    }
}

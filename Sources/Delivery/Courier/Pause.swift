import Core
import Push

/// A pause of a queue, a push service, a host or an endpoint, during which no attempts are made.
struct Pause: Sendable {
    /// The default length of pauses: it doubles each time, up to a limit.
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

    /// The end of the last pause; the distant past before the first.
    private(set) var end = Timestamp.distantPast
    private let longest: Duration

    /// `longest` is the maximum length of a pause.
    init(longest: Duration) {
        self.longest = longest
    }

    /// The end of the current pause; nil if there is none. A pause longer than the maximum started before the clock was
    /// set back, and is over.
    func end(at now: Timestamp) -> Timestamp? { end > now && end - now <= longest ? end : nil }

    /// Starts a pause and returns its end.
    @discardableResult
    mutating func begin(lasting length: Duration, now: Timestamp) -> Timestamp {
        end = now + min(length, longest)
        return end
    }

    /// Extends a pause to `length` from `now`, if that is longer.
    mutating func prolong(lasting length: Duration, now: Timestamp) { end = max(end, now + min(length, longest)) }

    mutating func follow(clockSetBackBy step: Duration) { end -= step }
}

/// Limits a queue's attempts in progress: all, none during a pause, or a few that probe whether the problem is solved.
struct Throttle: Sendable {
    /// How a queue returns to all attempts.
    enum Recovery: Sendable {
        /// One attempt probes; its success opens the queue.
        case atOnce
        /// A few attempts probe; each success adds one more.
        case stepwise
    }

    enum Phase: Sendable, Equatable {
        case open
        case paused
        /// Up to `places` attempts at a time, and whether one of them succeeded yet.
        case probing(places: Int, hasSucceeded: Bool)
    }

    private static let firstPlaces = 4

    private(set) var phase = Phase.open
    private var pause: Pause
    private var length: Pause.Length
    private let longestAsked: Duration
    private let recovery: Recovery

    /// For a queue with invalid credentials. `length` is the length of its pauses.
    static func credentials(_ length: Pause.Length) -> Throttle {
        Throttle(length, longestAsked: length.longest, recovery: .atOnce)
    }

    /// For a push service that asks for pauses of everything, such as one whose quota is used up. `length` is the
    /// default length of its pauses, and `longestAsked` the longest that it may request.
    static func service(_ length: Pause.Length, longestAsked: Duration) -> Throttle {
        Throttle(length, longestAsked: longestAsked, recovery: .stepwise)
    }

    private init(_ length: Pause.Length, longestAsked: Duration, recovery: Recovery) {
        self.length = length
        self.longestAsked = longestAsked
        self.recovery = recovery
        pause = Pause(longest: max(longestAsked, length.longest))
    }

    /// When attempts are made again; nil if it is not paused.
    var pausedUntil: Timestamp? { if case .paused = phase { pause.end } else { nil } }

    /// The maximum number of attempts in progress, up to `limit`. A finished pause becomes a probe.
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

    /// Starts a pause and returns its end. Nil if it is paused already; then the pause is only extended. `asked` is the
    /// length that the push service requested, or zero.
    mutating func pause(asked: Duration = .zero, now: Timestamp) -> Timestamp? {
        if case .paused = phase {
            if asked > .zero { pause.prolong(lasting: min(asked, longestAsked), now: now) }
            return nil
        }
        phase = .paused
        return pause.begin(lasting: asked > .zero ? min(asked, longestAsked) : length.next(), now: now)
    }

    /// Records that an attempt succeeded. Returns true for the first success after a pause. Attempts from before the
    /// pause prove nothing, so only those count that end while it is probing.
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

    /// Probes immediately, because the operator fixed a problem.
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

/// Pauses devices whose endpoint refuses one push after the other, if users choose the endpoint.
///
/// A refusal ends its push and asks for no pause. Without this, an endpoint that refuses immediately would get more
/// pushes than one that accepts everything.
///
/// A refusal counts for its device and not for the host, because the host has other users.
struct EndpointPauses: Sendable {
    private struct Endpoint: Sendable {
        var refusals = 0
        var refusedAt = Timestamp.distantPast
        var pause: Pause
        var length: Pause.Length
    }

    /// An endpoint is forgotten after this many times the longest pause without a refusal.
    private static let memory = 10

    private var endpoints: [DeviceID: Endpoint] = [:]
    private var sweepAt = 256
    private let limit: Int
    private let length: Pause.Length

    /// `limit` is the number of refusals in a row before the first pause starts.
    init(limit: Int, length: Pause.Length) {
        self.limit = limit
        self.length = length
    }

    /// The end of a device's pause; nil if it is not paused.
    func pausedUntil(_ device: DeviceID, now: Timestamp) -> Timestamp? { endpoints[device]?.pause.end(at: now) }

    mutating func refused(_ device: DeviceID, now: Timestamp) {
        sweep(now: now)
        var endpoint = endpoints[device] ?? Endpoint(pause: Pause(longest: length.longest), length: length)
        endpoint.refusals += 1
        endpoint.refusedAt = now
        if endpoint.refusals >= limit { endpoint.pause.begin(lasting: endpoint.length.next(), now: now) }
        endpoints[device] = endpoint
    }

    /// Forgets an endpoint that accepted a push, or whose device is gone.
    mutating func forget(_ device: DeviceID) { endpoints[device] = nil }

    /// Lets every endpoint be tried again now.
    mutating func unpause(now: Timestamp) {
        for device in endpoints.keys { endpoints[device]?.pause.begin(lasting: .zero, now: now) }
    }

    mutating func follow(clockSetBackBy step: Duration) {
        for device in endpoints.keys {
            endpoints[device]?.refusedAt -= step
            endpoints[device]?.pause.follow(clockSetBackBy: step)
        }
    }

    private mutating func sweep(now: Timestamp) {
        guard endpoints.count > sweepAt else { return }
        endpoints = endpoints.filter { $0.value.refusedAt > now - length.longest * Self.memory }
        sweepAt = max(256, 2 * endpoints.count)
    }
}

import DequeModule

/// How much goes to one host at a time, where endpoints are chosen by users: one slow or angry host must not hold what is
/// meant for others.
///
/// A host that asked for a break, or could not be reached, gets one attempt at a time until it answers as it should.
struct HostLimits: Sendable {
    enum Admission: Equatable {
        case send
        /// The lane is kept here until it is called, when another attempt towards the host ended.
        case wait
        /// The host has enough in hand: come back at that time, in milliseconds since 1970.
        case later(Int64)
    }

    private struct Host: Sendable {
        var inFlight = 0
        /// Lanes called that have not been decided about yet.
        var called = 0
        var waiting: Deque<Int> = []
        var pausedUntil = Int64.min
        /// Until when places are promised to those sent away.
        var promisedUntil = Int64.min
        /// One attempt at a time, to see whether it is well again.
        var isProbed = false
        var troubledAt = Int64.min
        var breaks: GrowingPause

        func isPaused(now: Int64, longestWait: Int64) -> Bool {
            // A pause that is longer than any was begun before the clock was set back.
            pausedUntil > now && pausedUntil - now <= longestWait
        }

        mutating func admit(_ lane: Int, limit: Int, waitingLimit: Int, longestWait: Int64, now: Int64) -> Admission {
            if isPaused(now: now, longestWait: longestWait) { return .later(pausedUntil) }
            if inFlight < limit {
                inFlight += 1
                return .send
            }
            if waiting.count < waitingLimit {
                waiting.append(lane)
                return .wait
            }
            // Spread over time, as if every attempt took the host a second: who comes back too early only costs a look.
            promisedUntil = max(promisedUntil, now + 1000) + Int64(max(1, 1000 / limit))
            return .later(min(promisedUntil, now + longestWait))
        }
    }

    private var hosts: [String: Host] = [:]
    private var sweepAt = 256
    private let limit: Int
    private let room: Int
    private let longestWait: Int64
    private let breaks: GrowingPause
    /// Lanes that wait, whatever for.
    private var waiting = 0

    /// `limit` is how much goes to one host at a time. As much may wait for each, and more while fewer than `room` wait in all:
    /// what waits here stays in memory, so no host may have all of it. `breaks` are for hosts that do not say how long.
    init(limit: Int, room: Int, longestWait: Int64, breaks: GrowingPause) {
        self.limit = limit
        self.room = room
        self.longestWait = max(longestWait, breaks.longest)
        self.breaks = breaks
    }

    /// How many hosts are left in peace at `now`.
    func paused(now: Int64) -> Int {
        hosts.values.reduce(0) { $0 + ($1.isPaused(now: now, longestWait: longestWait) ? 1 : 0) }
    }

    mutating func admit(_ lane: Int, to name: String, now: Int64) -> Admission {
        sweep(now: now)
        let admission = hosts[name, default: Host(breaks: breaks)].admit(
            lane,
            limit: places(of: name),
            waitingLimit: waiting < room ? max(limit, room / 4) : limit,
            longestWait: longestWait,
            now: now
        )
        if admission == .wait { waiting += 1 }
        return admission
    }

    /// An attempt ended; returns the lanes that are called now.
    mutating func leave(_ name: String) -> [Int] {
        hosts[name]?.inFlight -= 1
        return call(name)
    }

    /// A lane that was called is about to be decided about, whatever comes of it; ``call(_:)`` must follow.
    mutating func answered(_ name: String) {
        hosts[name]?.called -= 1
    }

    /// Calls lanes for the places there are. None waits for ever: lanes wait only while all places are taken or called for,
    /// and whenever one becomes free lanes are called.
    mutating func call(_ name: String) -> [Int] {
        let places = places(of: name)
        var lanes: [Int] = []
        while let host = hosts[name], host.inFlight + host.called < places, let lane = host.waiting.first {
            hosts[name]?.waiting.removeFirst()
            hosts[name]?.called += 1
            waiting -= 1
            lanes.append(lane)
        }
        return lanes
    }

    /// The host asked for a break, of `retryAfter` milliseconds or, with 0, without saying how long. It is kept no longer than
    /// the longest wait: who asks for a day is asked again before. What began before a break does not begin another.
    mutating func pause(_ name: String, retryAfter: Int64, now: Int64) {
        var host = hosts[name] ?? Host(breaks: breaks)
        let isPaused = host.isPaused(now: now, longestWait: longestWait)
        if retryAfter > 0 {
            let until = now + min(retryAfter, longestWait)
            host.pausedUntil = isPaused ? max(host.pausedUntil, until) : until
        } else if !isPaused {
            host.pausedUntil = now + host.breaks.next()
        }
        host.isProbed = true
        host.troubledAt = now
        hosts[name] = host
    }

    /// The host could not be reached, or did not answer.
    mutating func doubt(_ name: String, now: Int64) {
        hosts[name]?.isProbed = true
        hosts[name]?.troubledAt = now
    }

    /// The host answered as it should.
    mutating func trust(_ name: String, hasAccepted: Bool) {
        hosts[name]?.isProbed = false
        if hasAccepted { hosts[name]?.breaks.reset() }
    }

    mutating func follow(clockSetBackBy step: Int64) {
        for name in hosts.keys {
            hosts[name]?.pausedUntil.setBack(by: step)
            hosts[name]?.promisedUntil.setBack(by: step)
            hosts[name]?.troubledAt.setBack(by: step)
        }
    }

    private func places(of name: String) -> Int { hosts[name]?.isProbed == true ? 1 : limit }

    private mutating func sweep(now: Int64) {
        guard hosts.count > sweepAt else { return }
        hosts = hosts.filter {
            $0.value.inFlight > 0 || $0.value.called > 0 || !$0.value.waiting.isEmpty || $0.value.pausedUntil > now
                || $0.value.promisedUntil > now || $0.value.troubledAt > now - longestWait
        }
        sweepAt = max(256, 2 * hosts.count)
    }
}

import DequeModule

/// How much goes to one host at a time, where endpoints are chosen by users: one slow or angry host must not hold what is
/// meant for others.
///
/// A host that asked for a break, or could not be reached, gets one attempt at a time until it answers as it should.
/// While it cannot be reached there is a growing pause between these: one that refuses at once gets no more of them
/// than one that lets us wait.
///
/// ``newDevices`` stands for devices whose token no push service has taken yet, at push services that users do not
/// choose. One is tried at a time, and one more with each that is taken until none waits: made-up tokens cost the
/// operator's name there.
struct HostLimits: Sendable {
    enum Admission: Equatable {
        case send
        /// The lane is kept here until it is called, when another attempt towards the host ended.
        case wait
        /// The host is left in peace until then, in milliseconds since 1970.
        case paused(Int64)
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
        private(set) var isProbed = false
        /// Attempts under way that began before that, which say no more than the first that failed.
        var stragglers = 0
        var troubledAt = Int64.min
        var breaks: GrowingPause
        var doubts: GrowingPause

        var isIdle: Bool { inFlight == 0 && called == 0 && waiting.isEmpty }

        mutating func probe() {
            guard !isProbed else { return }
            isProbed = true
            stragglers = inFlight
        }

        mutating func trust() {
            isProbed = false
            stragglers = 0
            doubts.reset()
        }

        func isPaused(now: Int64, longestWait: Int64) -> Bool {
            // A pause that is longer than any was begun before the clock was set back.
            pausedUntil > now && pausedUntil - now <= longestWait
        }

        mutating func admit(_ lane: Int, limit: Int, waitingLimit: Int, longestWait: Int64, now: Int64) -> Admission {
            if isPaused(now: now, longestWait: longestWait) { return .paused(pausedUntil) }
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

    /// No host: new devices share it. No name of a host reads like this.
    static let newDevices = "(new devices)"
    /// How soon whoever finds no place among these looks again, in milliseconds.
    private static let newDevicesPause: Int64 = 1_000

    private var hosts: [String: Host] = [:]
    private var sweepAt = 256
    private let limit: Int
    private let room: Int
    private let longestWait: Int64
    private let breaks: GrowingPause
    private let doubts: GrowingPause
    private var newDevicePlaces = 1
    private let newDeviceLimit: Int
    /// Lanes that wait, whatever for.
    private var waiting = 0

    /// `limit` is how much goes to one host at a time. As much may wait for each, and more while fewer than `room` wait in all:
    /// what waits here stays in memory, so no host may have all of it. `breaks` are for hosts that do not say how long,
    /// `doubts` for those that cannot be reached. `newDeviceLimit` is how many new devices are tried at a time at most.
    init(
        limit: Int,
        room: Int,
        longestWait: Int64,
        breaks: GrowingPause,
        doubts: GrowingPause,
        newDeviceLimit: Int
    ) {
        self.limit = limit
        self.room = room
        self.longestWait = max(longestWait, breaks.longest)
        self.breaks = breaks
        self.doubts = doubts
        self.newDeviceLimit = newDeviceLimit
    }

    /// How many hosts are left in peace at `now`.
    func paused(now: Int64) -> Int {
        hosts.values.reduce(0) { $0 + ($1.isPaused(now: now, longestWait: longestWait) ? 1 : 0) }
    }

    /// Until when a host is left in peace, in milliseconds since 1970; nil when it is not.
    func pausedUntil(_ name: String, now: Int64) -> Int64? {
        guard let host = hosts[name], host.isPaused(now: now, longestWait: longestWait) else { return nil }
        return host.pausedUntil
    }

    mutating func admit(_ lane: Int, to name: String, now: Int64) -> Admission {
        sweep(now: now)
        let (places, waitingLimit) = (places(of: name), waiting < room ? max(limit, room / 4) : limit)
        let newHost = newHost
        let admission = hosts[name, default: newHost].admit(
            lane,
            limit: places,
            waitingLimit: waitingLimit,
            longestWait: longestWait,
            now: now
        )
        switch admission {
        case .wait: waiting += 1
        // Places come quickly where tokens are good.
        case .later where name == Self.newDevices: return .later(now + Self.newDevicesPause)
        default: break
        }
        return admission
    }

    /// An attempt ended; returns the lanes that are called now.
    mutating func leave(_ name: String) -> [Int] {
        hosts[name]?.inFlight -= 1
        if let host = hosts[name], host.stragglers > 0 { hosts[name]?.stragglers -= 1 }
        // Whoever comes next is another crowd.
        if name == Self.newDevices, hosts[name]?.isIdle == true { newDevicePlaces = 1 }
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
        var host = hosts[name] ?? newHost
        let isPaused = host.isPaused(now: now, longestWait: longestWait)
        if retryAfter > 0 {
            let until = now + min(retryAfter, longestWait)
            host.pausedUntil = isPaused ? max(host.pausedUntil, until) : until
        } else if !isPaused {
            host.pausedUntil = now + host.breaks.next()
        }
        host.probe()
        host.troubledAt = now
        hosts[name] = host
    }

    /// The host could not be reached, or did not answer. What began before that was known says it no second time.
    mutating func doubt(_ name: String, now: Int64) {
        guard var host = hosts[name] else { return }
        if host.isProbed, host.stragglers == 0, !host.isPaused(now: now, longestWait: longestWait) {
            host.pausedUntil = now + host.doubts.next()
        }
        host.probe()
        host.troubledAt = now
        hosts[name] = host
    }

    /// The host answered as it should.
    mutating func trust(_ name: String, hasAccepted: Bool) {
        hosts[name]?.trust()
        if hasAccepted { hosts[name]?.breaks.reset() }
    }

    /// A push service took the token of a new device, or refused it.
    mutating func judgeNewDevice(isTaken: Bool) {
        newDevicePlaces = isTaken ? min(newDevicePlaces + 1, newDeviceLimit) : max(1, newDevicePlaces / 2)
    }

    mutating func follow(clockSetBackBy step: Int64) {
        for name in hosts.keys {
            hosts[name]?.pausedUntil.setBack(by: step)
            hosts[name]?.promisedUntil.setBack(by: step)
            hosts[name]?.troubledAt.setBack(by: step)
        }
    }

    private var newHost: Host { Host(breaks: breaks, doubts: doubts) }

    private func places(of name: String) -> Int {
        if name == Self.newDevices { return newDevicePlaces }
        return hosts[name]?.isProbed == true ? 1 : limit
    }

    private mutating func sweep(now: Int64) {
        guard hosts.count > sweepAt else { return }
        hosts = hosts.filter {
            $0.value.inFlight > 0 || $0.value.called > 0 || !$0.value.waiting.isEmpty || $0.value.pausedUntil > now
                || $0.value.promisedUntil > now || $0.value.troubledAt > now - longestWait
        }
        sweepAt = max(256, 2 * hosts.count)
    }
}

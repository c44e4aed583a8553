import DequeModule

/// How much goes to one host at a time, where endpoints are chosen by users: one slow or angry host must not hold what is
/// meant for others.
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

        mutating func admit(_ lane: Int, limit: Int, waitingLimit: Int, longestWait: Int64, now: Int64) -> Admission {
            // A pause that is longer than any was begun before the clock was set back.
            if pausedUntil > now, pausedUntil - now <= longestWait { return .later(pausedUntil) }
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
    /// Lanes that wait, whatever for.
    private var waiting = 0

    /// `limit` is how much goes to one host at a time. As much may wait for each, and more while fewer than `room` wait in all:
    /// what waits here stays in memory, so no host may have all of it.
    init(limit: Int, room: Int, longestWait: Int64) {
        self.limit = limit
        self.room = room
        self.longestWait = longestWait
    }

    mutating func admit(_ lane: Int, to name: String, now: Int64) -> Admission {
        sweep(now: now)
        let admission = hosts[name, default: Host()].admit(
            lane,
            limit: limit,
            waitingLimit: waiting < room ? max(limit, room / 4) : limit,
            longestWait: longestWait,
            now: now
        )
        if admission == .wait { waiting += 1 }
        return admission
    }

    /// An attempt ended; returns the lane that is called now.
    mutating func leave(_ name: String) -> Int? {
        hosts[name]?.inFlight -= 1
        return call(name)
    }

    /// A lane that was called is about to be decided about, whatever comes of it; ``call(_:)`` must follow.
    mutating func answered(_ name: String) {
        hosts[name]?.called -= 1
    }

    /// Calls a lane if there is a place. None waits for ever: lanes wait only while all places are taken or called for, and
    /// each place that becomes free calls one.
    mutating func call(_ name: String) -> Int? {
        guard let host = hosts[name], host.inFlight + host.called < limit, let lane = host.waiting.first else {
            return nil
        }
        hosts[name]?.waiting.removeFirst()
        hosts[name]?.called += 1
        waiting -= 1
        return lane
    }

    /// The host asked for a break. It is kept no longer than the longest wait: who asks for a day is asked again before.
    mutating func pause(_ name: String, until: Int64, now: Int64) {
        hosts[name, default: Host()].pausedUntil = min(until, now + longestWait)
    }

    private mutating func sweep(now: Int64) {
        guard hosts.count > sweepAt else { return }
        hosts = hosts.filter {
            $0.value.inFlight > 0 || $0.value.called > 0 || !$0.value.waiting.isEmpty || $0.value.pausedUntil > now
                || $0.value.promisedUntil > now
        }
        sweepAt = max(256, 2 * hosts.count)
    }
}

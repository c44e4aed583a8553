import DequeModule

/// How much goes to one host at a time, where endpoints are chosen by users: one slow or angry host must not hold what is
/// meant for others.
struct HostLimits: Sendable {
    enum Admission: Equatable {
        case send
        /// The lane is kept here until another attempt towards the host ends.
        case wait
        /// The host has enough in hand: come back at that time, in milliseconds since 1970.
        case later(Int64)
    }

    private struct Host: Sendable {
        var inFlight = 0
        var waiting: Deque<Int> = []
        var pausedUntil = Int64.min
        /// Until when places are promised to those sent away.
        var promisedUntil = Int64.min

        mutating func admit(_ lane: Int, limit: Int, longestWait: Int64, now: Int64) -> Admission {
            // A pause that is longer than any was begun before the clock was set back.
            if pausedUntil > now, pausedUntil - now <= longestWait { return .later(pausedUntil) }
            if inFlight < limit {
                inFlight += 1
                return .send
            }
            if waiting.count < limit {
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
    private let longestWait: Int64

    init(limit: Int, longestWait: Int64) {
        self.limit = limit
        self.longestWait = longestWait
    }

    mutating func admit(_ lane: Int, to name: String, now: Int64) -> Admission {
        sweep(now: now)
        return hosts[name, default: Host()].admit(lane, limit: limit, longestWait: longestWait, now: now)
    }

    /// An attempt ended; returns the lane that may try now. That none waits forever follows from never more waiting than
    /// are under way: a lane waits only when all places are taken, and leaves with each attempt that ends.
    mutating func leave(_ name: String) -> Int? {
        hosts[name]?.inFlight -= 1
        return hosts[name]?.waiting.popFirst()
    }

    /// The host asked for a break. It is kept no longer than the longest wait: who asks for a day is asked again before.
    mutating func pause(_ name: String, until: Int64, now: Int64) {
        hosts[name, default: Host()].pausedUntil = min(until, now + longestWait)
    }

    private mutating func sweep(now: Int64) {
        guard hosts.count > sweepAt else { return }
        hosts = hosts.filter { $0.value.inFlight > 0 || $0.value.pausedUntil > now || $0.value.promisedUntil > now }
        sweepAt = max(256, 2 * hosts.count)
    }
}

import Core
import DequeModule

/// How many attempts go to one host at a time, where users choose endpoints, so that a slow or hostile host does not
/// delay deliveries to others.
///
/// A host that asked for a pause, or could not be reached, gets one attempt at a time until it answers properly. While
/// it cannot be reached there is a growing pause between these attempts: a host that refuses at once gets no more of
/// them than one that lets us wait. Devices that were sent away meanwhile take turns, so that one whose pushes always
/// fail does not use up every attempt.
///
/// A host that has never answered gets four attempts at a time, and no host more than its share of what is free: hundreds
/// of hosts that never answer leave room for another one.
///
/// ``newDevices`` stands for devices whose token no push service has accepted yet, at push services that users do not
/// choose. One is tried at a time, and one more with each that is accepted until none waits: made-up tokens harm the
/// operator's reputation there.
struct HostLimits: Sendable {
    enum Admission: Equatable {
        case send
        /// The device is kept here until it is called, when another attempt towards the host has ended.
        case wait
        /// The host is paused until then.
        case paused(Timestamp)
        /// Enough devices wait for the host: come back at that time.
        case later(Timestamp)
    }

    private struct Host: Sendable {
        var inFlight = 0
        /// Devices that were called and whose turn is not decided yet.
        var called = 0
        var waiting: Deque<Int> = []
        var pause: Pause
        /// The last time for which a place was promised to a device that was sent away.
        var promisedUntil = Timestamp.distantPast
        /// Whether it gets one attempt at a time, to see whether it has recovered.
        private(set) var isProbed = false
        private(set) var hasAnswered = false
        /// Attempts under way that began before it was probed, and prove no more than the first that failed.
        var stragglers = 0
        var troubledAt = Timestamp.distantPast
        var breaks = CourierLimits.breaks
        var doubts = CourierLimits.doubts
        /// Devices that were sent away while the host was probed: the next attempt is the first one's.
        private var line: Deque<Int> = []
        /// How long the first in line may take to come.
        private var turnEnds = Timestamp.distantPast

        init(pause: Pause) { self.pause = pause }

        var isIdle: Bool { inFlight == 0 && called == 0 && waiting.isEmpty }

        mutating func probe() {
            guard !isProbed else { return }
            isProbed = true
            stragglers = inFlight
        }

        mutating func trust() {
            isProbed = false
            hasAnswered = true
            stragglers = 0
            doubts.reset()
            line.removeAll()
        }

        /// Notes that the pause has another end.
        mutating func setTurn() { turnEnds = pause.end + HostLimits.turnLength }

        mutating func follow(clockSetBackBy step: Duration) {
            pause.follow(clockSetBackBy: step)
            promisedUntil -= step
            troubledAt -= step
            turnEnds -= step
        }

        mutating func admit(
            _ device: Int,
            limit: Int,
            waitingLimit: Int,
            longestWait: Duration,
            now: Timestamp
        ) -> Admission {
            if let end = pause.end(at: now) {
                lineUp(device)
                return .paused(end)
            }
            if inFlight < limit {
                if isProbed, let end = otherTurn(than: device, now: now) { return .paused(end) }
                if line.first == device { line.removeFirst() }
                inFlight += 1
                return .send
            }
            if waiting.count < waitingLimit {
                waiting.append(device)
                return .wait
            }
            // Spread over time, as if every attempt took the host a second. A device that comes back too early costs
            // little.
            promisedUntil = max(promisedUntil, now + .seconds(1)) + .milliseconds(max(1, 1000 / limit))
            return .later(min(promisedUntil, now + longestWait))
        }

        private mutating func lineUp(_ device: Int) {
            guard line.count < HostLimits.longestLine, !line.contains(device) else { return }
            line.append(device)
        }

        /// Until when it is the turn of another device; nil: it is `device`'s. Who does not come in time loses the
        /// turn.
        private mutating func otherTurn(than device: Int, now: Timestamp) -> Timestamp? {
            while let first = line.first, first != device {
                guard now >= turnEnds else {
                    lineUp(device)
                    return turnEnds
                }
                line.removeFirst()
                turnEnds = now + HostLimits.turnLength
            }
            return nil
        }
    }

    /// Shared by all new devices in place of a host. No host has such a name.
    static let newDevices = "(new devices)"
    /// How soon a new device that finds no place looks again.
    private static let newDevicesPause: Duration = .seconds(1)
    /// How long a paused host waits for the device whose turn it is.
    private static let turnLength: Duration = .seconds(1)
    /// Devices in line for a host; more than that come as it happens.
    private static let longestLine = 64
    /// Attempts at a time to a host that has never answered.
    private static let untriedPlaces = 4

    private var hosts: [String: Host] = [:]
    private var sweepAt = 256
    private let limit: Int
    private let total: Int
    private let capacity: Int
    private let longestWait: Duration
    private var newDevicePlaces = 1
    private let newDeviceLimit: Int
    /// Devices that wait, for any host.
    private var waiting = 0
    /// Attempts under way, to any host.
    private var inFlight = 0

    /// As many devices as attempts may wait for each host, and more while few wait in all: devices that wait stay in
    /// memory, so no host may use all of that. No pause exceeds `longestWait`, or the longest break.
    init(_ limits: CourierLimits, longestWait: Duration) {
        limit = limits.inFlightPerHost
        total = limits.inFlight + limits.slow
        capacity = limits.window / 4
        self.longestWait = max(longestWait, CourierLimits.breaks.longest)
        newDeviceLimit = limits.inFlight
    }

    /// How many hosts are paused at `now`.
    func paused(now: Timestamp) -> Int { hosts.values.count { $0.pause.end(at: now) != nil } }

    /// The end of a host's pause; nil when it is not paused.
    func pausedUntil(_ name: String, now: Timestamp) -> Timestamp? { hosts[name]?.pause.end(at: now) }

    /// Decides whether an attempt for `device`, an index in the queue, may go to a host.
    mutating func admit(_ device: Int, to name: String, now: Timestamp) -> Admission {
        sweep(now: now)
        let (places, waitingLimit) = (places(of: name), waiting < capacity ? max(limit, capacity / 4) : limit)
        let newHost = newHost
        let admission = hosts[name, default: newHost].admit(
            device,
            limit: places,
            waitingLimit: waitingLimit,
            longestWait: longestWait,
            now: now
        )
        switch admission {
        case .send: inFlight += 1
        case .wait: waiting += 1
        // Places become free quickly where tokens are good.
        case .later where name == Self.newDevices: return .later(now + Self.newDevicesPause)
        default: break
        }
        return admission
    }

    /// Notes that an attempt ended. Returns the devices that are called now.
    mutating func leave(_ name: String) -> [Int] {
        inFlight -= 1
        hosts[name]?.inFlight -= 1
        if let host = hosts[name], host.stragglers > 0 { hosts[name]?.stragglers -= 1 }
        // New devices that come later have to prove themselves again.
        if name == Self.newDevices, hosts[name]?.isIdle == true { newDevicePlaces = 1 }
        return call(name)
    }

    /// Notes that the turn of a called device is about to be decided; ``call(_:)`` must follow.
    mutating func answered(_ name: String) {
        hosts[name]?.called -= 1
    }

    /// Calls devices for the free places. No device waits without end: devices wait only while all places are taken or
    /// called for, and whenever one becomes free devices are called.
    mutating func call(_ name: String) -> [Int] {
        let places = places(of: name)
        var devices: [Int] = []
        while let host = hosts[name], host.inFlight + host.called < places, let device = host.waiting.first {
            hosts[name]?.waiting.removeFirst()
            hosts[name]?.called += 1
            waiting -= 1
            devices.append(device)
        }
        return devices
    }

    /// Pauses a host that asked for it, for `retryAfter` or, with zero, without saying how long. A pause never
    /// exceeds the longest wait, even if the host asks for a day. Attempts from before a pause do not begin
    /// another.
    mutating func pause(_ name: String, retryAfter: Duration, now: Timestamp) {
        var host = hosts[name] ?? newHost
        switch (host.pause.end(at: now), retryAfter) {
        case (nil, .zero): host.pause.begin(lasting: host.breaks.next(), now: now)
        case (nil, _): host.pause.begin(lasting: retryAfter, now: now)
        case (_?, _): host.pause.prolong(lasting: retryAfter, now: now)
        }
        host.setTurn()
        host.probe()
        host.troubledAt = now
        hosts[name] = host
    }

    /// Notes that a host could not be reached, or did not answer. Attempts from before that was known do not count
    /// again.
    mutating func doubt(_ name: String, now: Timestamp) {
        guard var host = hosts[name] else { return }
        if host.isProbed, host.stragglers == 0, host.pause.end(at: now) == nil {
            host.pause.begin(lasting: host.doubts.next(), now: now)
            host.setTurn()
        }
        host.probe()
        host.troubledAt = now
        hosts[name] = host
    }

    /// Notes that a host answered properly.
    mutating func trust(_ name: String, hasAccepted: Bool) {
        hosts[name]?.trust()
        if hasAccepted { hosts[name]?.breaks.reset() }
    }

    /// Notes that a push service accepted the token of a new device, or refused it. After a refusal half as many are
    /// tried at a time.
    mutating func judgeNewDevice(isTaken: Bool) {
        newDevicePlaces = isTaken ? min(newDevicePlaces + 1, newDeviceLimit) : max(1, newDevicePlaces / 2)
    }

    /// Lets every host be tried again now; one that was in trouble gets one attempt at a time still.
    mutating func unpause(now: Timestamp) {
        for name in hosts.keys {
            hosts[name]?.pause.begin(lasting: .zero, now: now)
            hosts[name]?.setTurn()
        }
    }

    mutating func follow(clockSetBackBy step: Duration) {
        for name in hosts.keys { hosts[name]?.follow(clockSetBackBy: step) }
    }

    private var newHost: Host { Host(pause: Pause(longest: longestWait)) }

    private func places(of name: String) -> Int {
        if name == Self.newDevices { return newDevicePlaces }
        let host = hosts[name]
        if host?.isProbed == true { return 1 }
        let share = max(1, (total - inFlight) / limit)
        return min(host?.hasAnswered == true ? limit : Self.untriedPlaces, share, limit)
    }

    private mutating func sweep(now: Timestamp) {
        guard hosts.count > sweepAt else { return }
        hosts = hosts.filter {
            $0.value.inFlight > 0 || $0.value.called > 0 || !$0.value.waiting.isEmpty || $0.value.pause.end > now
                || $0.value.promisedUntil > now || $0.value.troubledAt > now - longestWait
        }
        sweepAt = max(256, 2 * hosts.count)
    }
}

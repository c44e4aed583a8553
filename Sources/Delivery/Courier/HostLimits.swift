import Core
import DequeModule

/// Limits the attempts to one host if users choose endpoints, so that a slow or hostile host does not delay deliveries
/// to others.
///
/// A host that asked for a pause, or could not be reached, gets one attempt at a time until it responds properly. While
/// it cannot be reached, the pause between these attempts grows. A host that refuses connections thus gets no more
/// attempts than a slow one. Devices that were postponed in that time take turns, so that a device whose pushes always
/// fail does not use up every attempt.
///
/// A host that has never responded gets up to four attempts at a time. No host gets more than its share of the free
/// capacity, so hundreds of unresponsive hosts leave capacity for others.
///
/// ``newDevices`` is for devices whose token no push service has accepted yet, at push services that users do not
/// choose. One of them is tried at a time. Each accepted token allows one more until no new device is left, because
/// made-up tokens harm the operator's reputation there.
struct HostLimits: Sendable {
    enum Decision: Equatable {
        case send
        /// The device waits here until it is called, after another attempt to the host has ended.
        case wait
        /// The host or the endpoint is paused until then.
        case postponed(until: Timestamp, reason: String)
        /// Enough devices wait for the host. The device should come back at that time.
        case later(Timestamp)
    }

    private struct Host: Sendable {
        var inFlight = 0
        /// The number of called devices whose turn is not decided yet.
        var called = 0
        var waiting: Deque<Int> = []
        var pause: Pause
        /// The latest time at which a postponed device may come back.
        var promisedUntil = Timestamp.distantPast
        /// Whether it gets one attempt at a time, as a test whether it has recovered.
        private(set) var isProbed = false
        private(set) var hasAnswered = false
        /// The attempts in progress that started before it was probed. Their failure proves no more than the first one.
        var stragglers = 0
        var troubledAt = Timestamp.distantPast
        var breaks = CourierLimits.breaks
        var doubts = CourierLimits.doubts
        /// Devices that were postponed while the host was probed. The first one gets the next attempt.
        private var line: Deque<Int> = []
        /// The end of the first device's turn.
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

        /// Updates the turn after the pause has changed.
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
        ) -> Decision {
            if let end = pause.end(at: now) {
                lineUp(device)
                return .postponed(until: end, reason: HostLimits.pauseReason)
            }
            if inFlight < limit {
                if isProbed, let end = otherTurn(than: device, now: now) {
                    return .postponed(until: end, reason: HostLimits.pauseReason)
                }
                if line.first == device { line.removeFirst() }
                inFlight += 1
                return .send
            }
            if waiting.count < waitingLimit {
                waiting.append(device)
                return .wait
            }
            // Spreads devices over time, as if every attempt took one second. A device that comes back too early costs
            // little.
            promisedUntil = max(promisedUntil, now + .seconds(1)) + .milliseconds(max(1, 1000 / limit))
            return .later(min(promisedUntil, now + longestWait))
        }

        private mutating func lineUp(_ device: Int) {
            guard line.count < HostLimits.longestLine, !line.contains(device) else { return }
            line.append(device)
        }

        /// The end of another device's turn; nil if it is the turn of `device`. A device that does not come in time
        /// loses its turn.
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

    private static let pauseReason = "host-paused"
    /// The key of all new devices, used instead of a host. No host has such a name.
    static let newDevices = "(new devices)"
    /// The delay after which a new device without a slot tries again.
    private static let newDevicesPause: Duration = .seconds(1)
    /// The time that a paused host waits for the device whose turn it is.
    private static let turnLength: Duration = .seconds(1)
    /// The maximum number of devices in line for a host. More devices come without order.
    private static let longestLine = 64
    /// The maximum number of attempts in progress to a host that has never responded.
    private static let untriedPlaces = 4

    private var hosts: [String: Host] = [:]
    private var sweepAt = 256
    private let limit: Int
    private let total: Int
    private let capacity: Int
    private let longestWait: Duration
    private var newDevicePlaces = 1
    private let newDeviceLimit: Int
    /// The number of devices that wait, for any host.
    private var waiting = 0
    /// The number of attempts in progress, to any host.
    private var inFlight = 0

    /// As many devices as attempts may wait for each host, and more if few wait in total. Waiting devices stay in
    /// memory, so no host may use all of that. A pause lasts at most `longestWait`, and that is at least 15 minutes.
    init(_ limits: CourierLimits, longestWait: Duration) {
        limit = limits.inFlightPerHost
        total = limits.inFlight + limits.slow
        capacity = limits.window / 4
        self.longestWait = max(longestWait, CourierLimits.breaks.longest)
        newDeviceLimit = limits.inFlight
    }

    /// The number of paused hosts at `now`.
    func paused(now: Timestamp) -> Int { hosts.values.count { $0.pause.end(at: now) != nil } }

    /// The end of a host's pause; nil if it is not paused.
    func pausedUntil(_ name: String, now: Timestamp) -> Timestamp? { hosts[name]?.pause.end(at: now) }

    /// Decides whether an attempt for `device`, an index in the queue, may be sent to a host.
    mutating func admit(_ device: Int, to name: String, now: Timestamp) -> Decision {
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
        // Slots become free quickly if tokens are valid.
        case .later where name == Self.newDevices: return .later(now + Self.newDevicesPause)
        default: break
        }
        return admission
    }

    /// Records that an attempt ended. Returns the devices that are called now.
    mutating func leave(_ name: String) -> [Int] {
        inFlight -= 1
        hosts[name]?.inFlight -= 1
        if let host = hosts[name], host.stragglers > 0 { hosts[name]?.stragglers -= 1 }
        // Later new devices must prove themselves again.
        if name == Self.newDevices, hosts[name]?.isIdle == true { newDevicePlaces = 1 }
        return call(name)
    }

    /// Records that the turn of a called device will be decided now; ``call(_:)`` must follow.
    mutating func answered(_ name: String) {
        hosts[name]?.called -= 1
    }

    /// Calls devices for the free slots. Every waiting device is called eventually: devices only wait while all slots
    /// are taken or called for, and are called whenever one becomes free.
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

    /// Pauses a host that asked for it, for `retryAfter`, or for a default time if that is zero. A pause never exceeds
    /// the longest wait, even if the host asks for a day. Attempts from before a pause do not start another one.
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

    /// Records that a host could not be reached, or did not respond. Attempts that started before that was known do not
    /// count again.
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

    /// Records that a host responded properly.
    mutating func trust(_ name: String, hasAccepted: Bool) {
        hosts[name]?.trust()
        if hasAccepted { hosts[name]?.breaks.reset() }
    }

    /// Records that a push service accepted or refused the token of a new device. A refusal halves the number that is
    /// tried at a time.
    mutating func judgeNewDevice(isTaken: Bool) {
        newDevicePlaces = isTaken ? min(newDevicePlaces + 1, newDeviceLimit) : max(1, newDevicePlaces / 2)
    }

    /// Lets every host be tried again now. A host with problems still gets one attempt at a time.
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

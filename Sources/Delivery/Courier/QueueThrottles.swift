import Core
import Push

/// All that holds back the attempts of one queue: pauses of the queue, of its push service, of hosts and of endpoints.
/// Learns from outcomes which of them to begin and to end.
///
/// A push service that asks for peace names a scope, which the plugin passes on in the outcome: the device, everything
/// on its host, or the whole app. A host or a service is believed for up to a quarter of an hour at a time, a
/// device for as long as it says. After a pause one attempt goes to the host, or four to the service, before the
/// others.
struct QueueThrottles: Sendable {
    enum Admission {
        case send
        /// The device is kept here until it is called (``HostLimits/Admission/wait``).
        case wait
        /// Its host or endpoint is paused until then.
        case postponed(until: Timestamp, reason: String)
        /// Come back at that time.
        case later(Timestamp)
    }

    /// A pause that the push service prolongs by less is not reported again: the answers to attempts that were
    /// under way together come a little apart.
    private static let reportedProlongation: Duration = .seconds(5)

    private let queue: QueueName
    private let limit: Int
    private var credentials: Throttle
    private var service: Throttle
    private var hosts: HostLimits
    private var endpoints: EndpointPauses
    /// The last pause that was reported.
    private var reported: QueuePause?

    init(queue: QueueName, limits: CourierLimits, policy: RetryPolicy) {
        self.queue = queue
        limit = limits.inFlight
        credentials = .credentials(CourierLimits.pauses)
        service = .service(CourierLimits.breaks, longestAsked: policy.cap)
        hosts = HostLimits(limits, longestWait: policy.cap)
        endpoints = EndpointPauses(limit: limits.standAsideAfter, length: CourierLimits.doubts)
    }

    // MARK: The queue

    /// How many attempts may be under way now.
    mutating func allowance(now: Timestamp) -> Int {
        let allowed = credentials.allowance(of: limit, now: now)
        return min(allowed, service.allowance(of: limit, now: now))
    }

    /// When attempts are made again; nil when the queue is not paused.
    var pausedUntil: Timestamp? { [credentials.pausedUntil, service.pausedUntil].compactMap(\.self).max() }

    /// The pause that goes on, as it was reported.
    var pause: QueuePause? { pausedUntil == nil ? nil : reported }

    /// The last pause that was reported, also when it is over.
    var lastPause: QueuePause? { reported }

    /// Until when nothing goes to a device, as its host or its endpoint is paused; nil: neither is.
    func pausedUntil(_ device: DeviceID, at host: String?, now: Timestamp) -> Timestamp? {
        [host.flatMap { hosts.pausedUntil($0, now: now) }, endpoints.pausedUntil(device, now: now)]
            .compactMap(\.self).max()
    }

    /// How many hosts are paused.
    func pausedHosts(now: Timestamp) -> Int { hosts.paused(now: now) }

    /// Pauses the queue because its credentials are bad or its transport is missing. Returns the pause if it is a new
    /// one. Only what the operator has to repair may lead here: nothing that anybody can cause by registering nonsense
    /// pauses a queue.
    mutating func pauseForCredentials(_ reason: String, now: Timestamp) -> QueuePause? {
        credentials.pause(now: now).map { report(.misconfigured, until: $0, reason) }
    }

    /// Pauses the queue because its push service asked for it. Returns the pause if it is a new one, or much longer
    /// than before.
    mutating func pauseForService(_ outcome: Outcome, now: Timestamp) -> QueuePause? {
        if let until = service.pause(asked: outcome.retryAfter, now: now) {
            return report(.asked, until: until, outcome.reason)
        }
        guard let until = service.pausedUntil, let before = reported?.until, until - before >= Self.reportedProlongation
        else { return nil }
        return report(.asked, until: until, outcome.reason)
    }

    /// Notes that an attempt came to an end at the push service. Returns whether that ends a pause.
    mutating func succeed(isDelivered: Bool) -> Bool {
        let isRepaired = credentials.succeed(limit: limit)
        let isServed = isDelivered && service.succeed(limit: limit)
        return isRepaired || isServed
    }

    /// Probes at once, because somebody repaired something.
    mutating func lift() {
        credentials.lift()
        service.lift()
    }

    /// The same, and lets hosts and endpoints be tried again that are paused.
    mutating func unpause(now: Timestamp) {
        lift()
        hosts.unpause(now: now)
        endpoints.unpause(now: now)
    }

    mutating func follow(clockSetBackBy step: Duration) {
        credentials.follow(clockSetBackBy: step)
        service.follow(clockSetBackBy: step)
        hosts.follow(clockSetBackBy: step)
        endpoints.follow(clockSetBackBy: step)
        reported?.until -= step
    }

    private mutating func report(_ cause: QueuePause.Cause, until: Timestamp, _ reason: String) -> QueuePause {
        let pause = QueuePause(queue: queue, until: until, reason: reason, cause: cause)
        reported = pause
        return pause
    }

    // MARK: Hosts and endpoints

    /// Decides whether an attempt for `device`, whose index in the queue is `index`, may go to `host`.
    mutating func admit(_ device: DeviceID, _ index: Int, to host: String, now: Timestamp) -> Admission {
        if host != HostLimits.newDevices, let until = endpoints.pausedUntil(device, now: now) {
            return .postponed(until: until, reason: "endpoint-refuses")
        }
        return switch hosts.admit(index, to: host, now: now) {
        case .send: .send
        case .wait: .wait
        case .paused(let until): .postponed(until: until, reason: "host-paused")
        case .later(let due): .later(due)
        }
    }

    /// Notes that an attempt towards `host` ended. Returns the devices that are called now, by their indices.
    mutating func leave(_ host: String) -> [Int] { hosts.leave(host) }

    /// Notes that the turn of a device which `host` called is about to be decided; ``call(_:)`` must follow.
    mutating func answerCall(of host: String) { hosts.answered(host) }

    /// Calls devices for the free places of a host, and returns their indices.
    mutating func call(_ host: String) -> [Int] { hosts.call(host) }

    /// Learns from the outcome of an attempt towards `host`. Returns the end of that host's pause; nil when
    /// it is not paused.
    mutating func learn(from outcome: Outcome, of device: DeviceID, at host: String, now: Timestamp) -> Timestamp? {
        if host == HostLimits.newDevices {
            judgeNewDevice(outcome)
        } else {
            judgeHost(outcome, host, now: now)
            judgeEndpoint(outcome, of: device, now: now)
        }
        return hosts.pausedUntil(host, now: now)
    }

    private mutating func judgeHost(_ outcome: Outcome, _ host: String, now: Timestamp) {
        switch outcome.kind {
        case .delivered: hosts.trust(host, hasAccepted: true)
        case .gone, .rejected: hosts.trust(host, hasAccepted: false)
        case .misconfigured: break
        case .retry:
            switch outcome.scope {
            case .host:
                hosts.pause(host, retryAfter: outcome.retryAfter, now: now)
            case .usual where outcome.retryAfter > .zero || outcome.status == 429:
                hosts.pause(host, retryAfter: outcome.retryAfter, now: now)
            // A router that lacks capacity has not asked the host.
            case .usual where outcome.status == 0 && outcome.reason != "overloaded": hosts.doubt(host, now: now)
            case .usual, .device, .transport: break
            }
        }
    }

    private mutating func judgeNewDevice(_ outcome: Outcome) {
        switch outcome.kind {
        case .delivered: hosts.judgeNewDevice(isTaken: true)
        // The push service knew that one.
        case .gone where outcome.status == 410: break
        case .gone, .rejected: hosts.judgeNewDevice(isTaken: false)
        case .retry, .misconfigured: break
        }
    }

    private mutating func judgeEndpoint(_ outcome: Outcome, of device: DeviceID, now: Timestamp) {
        switch outcome.kind {
        case .delivered, .gone: endpoints.forget(device)
        case .rejected: endpoints.refused(device, now: now)
        case .retry, .misconfigured: break
        }
    }
}

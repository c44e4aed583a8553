import Core
import Push

/// All throttles of one queue's attempts: pauses of the queue, of its push service, of hosts and of endpoints. Outcomes
/// start and end them.
///
/// If a push service asks for a pause, the plugin passes its scope on in the outcome: the device, everything on its
/// host, or the whole app. The requested pause of a host or a service is limited to a quarter of an hour at a time; a
/// device's is not. After a pause, first one attempt is sent to the host, or four to the service.
struct QueueThrottles: Sendable {
    /// A shorter extension of a pause is not reported again, because the responses to simultaneous attempts arrive a
    /// little apart.
    private static let reportedProlongation: Duration = .seconds(5)

    private let queue: QueueName
    private let limit: Int
    private var credentials: Throttle
    private var service: Throttle
    /// The slots of each host. A device that it calls must decide about its turn: ``HostLimits/answered(_:)``.
    var hosts: HostLimits
    private var endpoints: EndpointPauses
    /// The last pause that was reported.
    private var reported: QueuePause?

    init(queue: QueueName, limits: CourierLimits, policy: RetryPolicy) {
        self.queue = queue
        limit = limits.inFlight
        credentials = .credentials(CourierLimits.pauses)
        service = .service(CourierLimits.breaks, longestAsked: policy.cap)
        hosts = HostLimits(limits, longestWait: policy.cap)
        endpoints = EndpointPauses(limit: limits.stopBlockingAfter, length: CourierLimits.doubts)
    }

    // MARK: The queue

    /// The maximum number of attempts in progress now.
    mutating func allowance(now: Timestamp) -> Int {
        let allowed = credentials.allowance(of: limit, now: now)
        return min(allowed, service.allowance(of: limit, now: now))
    }

    /// When attempts are made again; nil if the queue is not paused.
    var pausedUntil: Timestamp? { [credentials.pausedUntil, service.pausedUntil].compactMap(\.self).max() }

    /// The current pause; nil if the queue is not paused.
    var pause: QueuePause? {
        guard let until = pausedUntil, var pause = reported else { return nil }
        pause.until = until
        return pause
    }

    /// The last pause that was reported, even if it is over.
    var lastPause: QueuePause? { reported }

    /// The end of the pause of a device's host or endpoint; nil if neither is paused.
    func pausedUntil(_ device: DeviceID, at host: String?, now: Timestamp) -> Timestamp? {
        [host.flatMap { hosts.pausedUntil($0, now: now) }, endpoints.pausedUntil(device, now: now)]
            .compactMap(\.self).max()
    }

    /// Pauses the queue because its credentials are invalid or its transport is missing. Returns the pause if it is
    /// new. Only problems that the operator must fix may cause this; otherwise any client could pause a queue with an
    /// invalid registration.
    mutating func pauseForCredentials(_ reason: String, now: Timestamp) -> QueuePause? {
        credentials.pause(now: now).map { report(.misconfigured, until: $0, reason) }
    }

    /// Pauses the queue because its push service asked for it. Returns the pause if it is new, or much longer than
    /// before.
    mutating func pauseForService(_ outcome: Outcome, now: Timestamp) -> QueuePause? {
        if let until = service.pause(asked: outcome.retryAfter, now: now) {
            return report(.asked, until: until, outcome.reason)
        }
        guard let until = service.pausedUntil, let before = reported?.until, until - before >= Self.reportedProlongation
        else { return nil }
        return report(.asked, until: until, outcome.reason)
    }

    /// Records that an attempt ended at the push service. Returns whether that ends a pause.
    mutating func succeed(isDelivered: Bool) -> Bool {
        let isRepaired = credentials.succeed(limit: limit)
        let isServed = isDelivered && service.succeed(limit: limit)
        return isRepaired || isServed
    }

    /// Probes immediately, because the operator fixed a problem.
    mutating func lift() {
        credentials.lift()
        service.lift()
    }

    /// Probes immediately, and lets paused hosts and endpoints be tried again.
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

    /// Decides whether an attempt for `device`, whose index in the queue is `index`, may be sent to `host`.
    mutating func admit(_ device: DeviceID, _ index: Int, to host: String, now: Timestamp) -> HostLimits.Decision {
        if host != HostLimits.newDevices, let until = endpoints.pausedUntil(device, now: now) {
            return .postponed(until: until, reason: "endpoint-refuses")
        }
        return hosts.admit(index, to: host, now: now)
    }

    /// Handles the outcome of an attempt to `host`. Returns the end of that host's pause; nil if it is not paused.
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
            // If the router lacked capacity, the host was not asked.
            case .usual where outcome.status == 0 && outcome.reason != "overloaded": hosts.doubt(host, now: now)
            case .usual, .device, .transport: break
            }
        }
    }

    private mutating func judgeNewDevice(_ outcome: Outcome) {
        switch outcome.kind {
        case .delivered: hosts.judgeNewDevice(isTaken: true)
        // The push service knew that token.
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

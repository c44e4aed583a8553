import DequeModule
import Notifications

extension CourierQueue {
    /// Answers a lookup; true when the attempt shall be made.
    mutating func resolved(
        _ ticket: Ticket,
        _ resolution: Resolution,
        now: Int64,
        random: inout some RandomNumberGenerator,
        into actions: inout CourierActions
    ) -> Bool {
        guard lanes.isUnderWay(ticket) else { return false }
        let lane = ticket.lane
        let caller = answerCall(lane)
        let isAttempted = decide(lane, resolution, now: now, random: &random, into: &actions)
        callNext(caller)
        return isAttempted
    }

    private mutating func decide(
        _ lane: Int,
        _ resolution: Resolution,
        now: Int64,
        random: inout some RandomNumberGenerator,
        into actions: inout CourierActions
    ) -> Bool {
        switch resolution {
        case .found(nil):
            return true
        case .found(let host?):
            return admit(lane, to: host, now: now, into: &actions)
        case .unregistered:
            inFlight -= 1
            end(lane, .unregistered, reason: "unregistered", into: &actions)
            proceed(lane)
        case .moved:
            inFlight -= 1
            end(lane, .moved, reason: "moved", into: &actions)
            proceed(lane)
        case .unavailable:
            inFlight -= 1
            let outcome = Outcome(.retry, reason: "directory-unavailable")
            retry(lane, .retry, outcome, notBefore: nil, now: now, random: &random, into: &actions)
        case .noTransport:
            inFlight -= 1
            lanes[lane].state = .ready
            ready.prepend(lane)
            report(.misconfigured, until: gate.pause(now: now), "no-transport", into: &actions)
        }
        return false
    }

    /// Takes the outcome of an attempt. A second one for the same attempt is ignored.
    mutating func ended(
        _ ticket: Ticket,
        _ outcome: Outcome,
        now: Int64,
        random: inout some RandomNumberGenerator,
        into actions: inout CourierActions
    ) {
        guard lanes.isUnderWay(ticket) else { return }
        let lane = ticket.lane
        inFlight -= 1
        var hostPausedUntil: Int64?
        if let host = lanes[lane].host {
            hear(outcome, of: host, now: now)
            hostPausedUntil = hosts.pausedUntil(host, now: now)
            hear(outcome, of: ticket.stored.delivery.device, at: host, now: now)
            leaveHost(of: lane)
        }
        switch outcome.kind {
        case .delivered: finish(lane, .delivered, outcome, into: &actions)
        case .rejected where reduce(lane, outcome, into: &actions): makeReady(lane)
        case .rejected: finish(lane, .rejected, outcome, into: &actions)
        case .gone:
            // What else waits for this device finds it unregistered when its turn comes.
            finish(lane, .gone, outcome, into: &actions)
        case .retry:
            if outcome.scope == .transport {
                let until = service.pause(retryAfter: Int64(outcome.retryAfter), now: now)
                report(.asked, until: until ?? prolongedPause, outcome.reason, into: &actions)
            }
            retry(lane, .retry, outcome, notBefore: hostPausedUntil, now: now, random: &random, into: &actions)
        case .misconfigured:
            report(.misconfigured, until: gate.pause(now: now), outcome.reason, into: &actions)
            retry(lane, .misconfigured, outcome, notBefore: nil, now: now, random: &random, into: &actions)
        }
    }

    /// Ends the lane's first delivery for good.
    mutating func end(
        _ lane: Int,
        _ kind: DeliveryReport.Kind,
        status: UInt32 = 0,
        reason: String,
        attempted: Int = 0,
        into actions: inout CourierActions
    ) {
        guard let stored = lanes[lane].waiting.popFirst() else { return }
        held -= 1
        forgetRetrying(stored)
        actions.changes.removals.append(stored.key)
        actions.reports.append(
            DeliveryReport(
                delivery: stored.delivery.id,
                device: stored.delivery.device,
                queue: name,
                kind: kind,
                status: status,
                reason: reason,
                attempt: stored.attempts + attempted,
                acceptedAt: stored.delivery.acceptedAt
            )
        )
    }

    private mutating func finish(
        _ lane: Int,
        _ kind: DeliveryReport.Kind,
        _ outcome: Outcome,
        into actions: inout CourierActions
    ) {
        let isMended = gate.settle()
        let isServed = kind == .delivered && service.arrived(limit: limits.inFlight)
        if isMended || isServed { actions.resumed.append(name) }
        end(lane, kind, status: outcome.status, reason: outcome.reason, attempted: 1, into: &actions)
        proceed(lane)
    }

    /// `hostPausedUntil` is until when its host is left in peace, in milliseconds since 1970.
    private mutating func retry(
        _ lane: Int,
        _ kind: DeliveryReport.Kind,
        _ outcome: Outcome,
        notBefore hostPausedUntil: Int64?,
        now: Int64,
        random: inout some RandomNumberGenerator,
        into actions: inout CourierActions
    ) {
        guard let stored = lanes[lane].waiting.first else { return }
        let delivery = stored.delivery
        let attempts = stored.attempts + 1
        let due = policy.nextAttempt(
            of: delivery,
            attempts: attempts,
            retryAfter: outcome.retryAfter,
            now: now,
            random: &random
        )
        guard var due else {
            end(lane, .expired, status: outcome.status, reason: outcome.reason, attempted: 1, into: &actions)
            return proceed(lane)
        }
        if let hostPausedUntil, hostPausedUntil < policy.deadline(of: delivery) { due = max(due, hostPausedUntil) }
        actions.changes.reschedulings.append(
            OutboxChanges.Rescheduling(key: stored.key, due: due, attempts: attempts)
        )
        // What is about the device is about all that waits for it.
        let standsAside = attempts >= limits.standAsideAfter && outcome.scope != .device
        actions.reports.append(
            DeliveryReport(
                delivery: delivery.id,
                device: delivery.device,
                queue: name,
                kind: kind,
                status: outcome.status,
                reason: outcome.reason,
                attempt: attempts,
                nextDue: due,
                standsAside: standsAside,
                acceptedAt: delivery.acceptedAt
            )
        )
        retrying.insert(stored.key)
        let rescheduled = stored.rescheduled(attempts: attempts, due: due)
        if standsAside {
            lanes[lane].waiting.removeFirst()
            park(rescheduled, until: due)
            proceed(lane)
        } else {
            lanes[lane].waiting[0] = rescheduled
            park(lane, until: due)
        }
    }

    /// `until` is the end of a pause that began now.
    private mutating func report(
        _ cause: QueuePause.Cause,
        until: Int64?,
        _ reason: String,
        into actions: inout CourierActions
    ) {
        guard let until else { return }
        let pause = QueuePause(queue: name, until: until, reason: reason, cause: cause)
        self.pause = pause
        actions.pauses.append(pause)
    }

    /// The end of a pause that the push service prolonged by more than a little since that was told.
    private var prolongedPause: Int64? {
        guard case .paused(let until) = service.state, let told = pause?.until, until - told >= Self.worthTelling else {
            return nil
        }
        return until
    }

    /// In milliseconds: the answers to what was under way together come a little apart.
    private static let worthTelling: Int64 = 5_000

    /// What an outcome tells of the host that the attempt went to.
    private mutating func hear(_ outcome: Outcome, of host: String, now: Int64) {
        guard host != HostLimits.newDevices else { return judgeNewDevice(outcome) }
        switch outcome.kind {
        case .delivered: hosts.trust(host, hasAccepted: true)
        case .gone, .rejected: hosts.trust(host, hasAccepted: false)
        case .misconfigured: break
        case .retry:
            switch outcome.scope {
            case .host:
                hosts.pause(host, retryAfter: Int64(outcome.retryAfter), now: now)
            case .usual where outcome.retryAfter > 0 || outcome.status == 429:
                hosts.pause(host, retryAfter: Int64(outcome.retryAfter), now: now)
            case .usual where outcome.status == 0: hosts.doubt(host, now: now)
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

    /// What an outcome tells of the endpoint of a device, where users choose it.
    private mutating func hear(_ outcome: Outcome, of device: DeviceID, at host: String, now: Int64) {
        guard host != HostLimits.newDevices else { return }
        switch outcome.kind {
        case .delivered, .gone: endpoints.forget(device)
        case .rejected: endpoints.refused(device, now: now)
        case .retry, .misconfigured: break
        }
    }

    private mutating func admit(_ lane: Int, to host: String, now: Int64, into actions: inout CourierActions) -> Bool {
        if host != HostLimits.newDevices, let until = endpoints.pausedUntil(lanes[lane].device, now: now) {
            postpone(lane, until: until, reason: "endpoint-refuses", into: &actions)
            return false
        }
        switch hosts.admit(lane, to: host, now: now) {
        case .send:
            lanes[lane].host = host
            return true
        case .wait:
            inFlight -= 1
            lanes[lane].state = .held
        case .paused(let until):
            postpone(lane, until: until, reason: "host-paused", into: &actions)
        case .later(let due):
            inFlight -= 1
            park(lane, until: due)
        }
        return false
    }

    /// Its turn comes again at `due`, in milliseconds since 1970.
    private mutating func postpone(_ lane: Int, until due: Int64, reason: String, into actions: inout CourierActions) {
        inFlight -= 1
        if let stored = lanes[lane].waiting.first {
            actions.postponed.append(
                DeliveryReport(
                    delivery: stored.delivery.id,
                    device: stored.delivery.device,
                    queue: name,
                    kind: .postponed,
                    reason: reason,
                    attempt: stored.attempts,
                    nextDue: due,
                    acceptedAt: stored.delivery.acceptedAt
                )
            )
        }
        park(lane, until: due)
    }

    private mutating func leaveHost(of lane: Int) {
        guard let host = lanes[lane].host else { return }
        lanes[lane].host = nil
        for waiting in hosts.leave(host) { makeReady(waiting, calledBy: host) }
    }

    /// Notes that a lane is about to be decided about; returns the host that called it, if one did.
    mutating func answerCall(_ lane: Int) -> String? {
        guard let caller = lanes[lane].caller else { return nil }
        lanes[lane].caller = nil
        hosts.answered(caller)
        return caller
    }

    /// Whoever was called may have found no use for its place.
    mutating func callNext(_ caller: String?) {
        guard let caller else { return }
        for waiting in hosts.call(caller) { makeReady(waiting, calledBy: caller) }
    }

    private mutating func makeReady(_ lane: Int, calledBy host: String) {
        lanes[lane].caller = host
        makeReady(lane)
    }
}

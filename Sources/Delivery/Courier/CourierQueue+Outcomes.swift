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
            return admit(lane, to: host, now: now)
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
            retry(lane, .retry, outcome, now: now, random: &random, into: &actions)
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
        if let host = lanes[lane].host {
            hear(outcome, of: host, now: now)
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
                report(.asked, until: until, outcome.reason, into: &actions)
            }
            retry(lane, .retry, outcome, now: now, random: &random, into: &actions)
        case .misconfigured:
            report(.misconfigured, until: gate.pause(now: now), outcome.reason, into: &actions)
            retry(lane, .misconfigured, outcome, now: now, random: &random, into: &actions)
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

    private mutating func retry(
        _ lane: Int,
        _ kind: DeliveryReport.Kind,
        _ outcome: Outcome,
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
        guard let due else {
            end(lane, .expired, status: outcome.status, reason: outcome.reason, attempted: 1, into: &actions)
            return proceed(lane)
        }
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

    /// What an outcome tells of the host that the attempt went to.
    private mutating func hear(_ outcome: Outcome, of host: String, now: Int64) {
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

    private mutating func admit(_ lane: Int, to host: String, now: Int64) -> Bool {
        switch hosts.admit(lane, to: host, now: now) {
        case .send:
            lanes[lane].host = host
            return true
        case .wait:
            inFlight -= 1
            lanes[lane].state = .held
        case .later(let due):
            inFlight -= 1
            park(lane, until: due)
        }
        return false
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

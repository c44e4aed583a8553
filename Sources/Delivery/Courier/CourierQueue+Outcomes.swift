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
            pause(reason: "no-transport", now: now, into: &actions)
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
        let host = lanes[lane].host
        leaveHost(of: lane)
        switch outcome.kind {
        case .delivered: finish(lane, .delivered, outcome, into: &actions)
        case .rejected where reduce(lane, outcome, into: &actions): makeReady(lane)
        case .rejected: finish(lane, .rejected, outcome, into: &actions)
        case .gone:
            // What else waits for this device finds it unregistered when its turn comes.
            finish(lane, .gone, outcome, into: &actions)
        case .retry:
            // A service that names a time means this device; where users choose the endpoint, everything on that host.
            if outcome.retryAfter > 0, let host {
                hosts.pause(host, until: now + Int64(outcome.retryAfter), now: now)
            }
            retry(lane, .retry, outcome, now: now, random: &random, into: &actions)
        case .misconfigured:
            pause(reason: outcome.reason, now: now, into: &actions)
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
                attempt: stored.attempts + attempted
            )
        )
    }

    private mutating func finish(
        _ lane: Int,
        _ kind: DeliveryReport.Kind,
        _ outcome: Outcome,
        into actions: inout CourierActions
    ) {
        if gate.settle() { actions.resumed.append(name) }
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
        actions.reports.append(
            DeliveryReport(
                delivery: delivery.id,
                device: delivery.device,
                queue: name,
                kind: kind,
                status: outcome.status,
                reason: outcome.reason,
                attempt: attempts,
                nextDue: due
            )
        )
        retrying.insert(stored.key)
        let rescheduled = stored.rescheduled(attempts: attempts, due: due)
        if attempts < limits.standAsideAfter {
            lanes[lane].waiting[0] = rescheduled
            park(lane, until: due)
        } else {
            lanes[lane].waiting.removeFirst()
            park(rescheduled, until: due)
            proceed(lane)
        }
    }

    private mutating func pause(reason: String, now: Int64, into actions: inout CourierActions) {
        guard let until = gate.pause(now: now) else { return }
        actions.pauses.append(QueuePause(queue: name, until: until, reason: reason))
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
        if let waiting = hosts.leave(host) { makeReady(waiting, calledBy: host) }
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
        guard let caller, let waiting = hosts.call(caller) else { return }
        makeReady(waiting, calledBy: caller)
    }

    private mutating func makeReady(_ lane: Int, calledBy host: String) {
        lanes[lane].caller = host
        makeReady(lane)
    }
}

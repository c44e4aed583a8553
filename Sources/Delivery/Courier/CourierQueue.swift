import Core
import DequeModule
import Push

/// The state machine of one platform and app's deliveries: it selects the next attempts and handles their outcomes.
///
/// A device's deliveries are sent one at a time and in order. A failed one is retried before those after it, until it
/// has failed so often that it no longer blocks them. A retry that is only on disk delays no other delivery.
struct CourierQueue: Sendable {
    let name: QueueName
    private let limits: CourierLimits
    private let policy: RetryPolicy
    private let withdrawals: SharedWithdrawals
    var paging: QueuePaging
    private(set) var devices = DeviceQueues()
    var throttles: QueueThrottles
    /// The number of devices with an attempt in progress.
    private(set) var inFlight = 0
    /// Attempts to users' hosts that are not slow yet, and some that have ended, in order.
    private var recent: Deque<(attempt: Attempt, since: Timestamp)> = []
    private var slow = 0

    init(
        _ name: QueueName,
        _ paging: QueuePaging,
        limits: CourierLimits,
        policy: RetryPolicy,
        _ withdrawals: SharedWithdrawals
    ) {
        self.name = name
        self.paging = paging
        self.limits = limits
        self.policy = policy
        self.withdrawals = withdrawals
        throttles = QueueThrottles(queue: name, limits: limits, policy: policy)
    }

    /// The next time at which ``advance(now:into:)`` may have work.
    var wakeAt: Timestamp? {
        guard devices.hasReady else { return devices.nextDue }
        let placeFreeAt = recent.first.map { $0.since + CourierLimits.slowAfter }
        return [throttles.pausedUntil, placeFreeAt, devices.nextDue].compactMap(\.self).min()
    }

    func status(now: Timestamp) -> QueueStatus {
        var status = QueueStatus(
            queue: name,
            inFlight: inFlight,
            inMemory: devices.count,
            waitingForRetry: devices.delayedCount,
            pause: throttles.pause
        )
        status.pausedHosts = throttles.hosts.paused(now: now)
        return status
    }

    /// Takes a delivery that was just written to disk.
    mutating func accept(_ stored: StoredDelivery) { paging.accept(stored, into: &devices) }

    /// Starts all possible work: due retries, page reads and attempts.
    mutating func advance(now: Timestamp, into actions: inout CourierActions) {
        devices.wake(now: now, lifetime: policy.lifetime)
        actions.changes.reschedulings += paging.moveDelayedToDisk(from: &devices)
        noteSlow(now: now)
        while inFlight - min(slow, limits.slow) < throttles.allowance(now: now), let device = devices.nextReady() {
            dropObsolete(device, now: now, into: &actions)
            guard let first = devices[device].waiting.first else {
                let caller = answerCall(device)
                devices.release(device)
                callNext(caller)
                continue
            }
            devices[device].state = .inFlight
            inFlight += 1
            actions.lookups.append(Attempt(queue: paging.index, device: device, stored: first))
        }
        actions.reads += paging.nextReads(for: devices)
    }

    private mutating func noteSlow(now: Timestamp) {
        while let first = recent.first, first.since + CourierLimits.slowAfter <= now {
            recent.removeFirst()
            guard devices.isUnderWay(first.attempt) else { continue }
            devices[first.attempt.device].isSlow = true
            slow += 1
        }
    }

    /// Ends deliveries that have expired or whose event was deleted.
    private mutating func dropObsolete(_ device: Int, now: Timestamp, into actions: inout CourierActions) {
        while let first = devices[device].waiting.first {
            if policy.deadline(of: first.delivery) <= now {
                let failure = policy.outlives(first.delivery) ? lastFailure(of: first) : nil
                end(device, .expired, failure: failure, now: now, into: &actions)
            } else if withdrawals.contains(first.delivery) {
                end(device, .deleted, now: now, into: &actions)
            } else {
                return
            }
        }
    }

    // MARK: Attempts

    /// Handles the result of a lookup. Returns whether the attempt should be made.
    mutating func resolved(
        _ attempt: Attempt,
        _ resolution: AddressLookup,
        now: Timestamp,
        random: inout some RandomNumberGenerator,
        into actions: inout CourierActions
    ) -> Bool {
        guard devices.isUnderWay(attempt) else { return false }
        let caller = answerCall(attempt.device)
        let isAttempted = decide(attempt.device, resolution, now: now, random: &random, into: &actions)
        callNext(caller)
        return isAttempted
    }

    private mutating func decide(
        _ device: Int,
        _ resolution: AddressLookup,
        now: Timestamp,
        random: inout some RandomNumberGenerator,
        into actions: inout CourierActions
    ) -> Bool {
        switch resolution {
        case .found(nil):
            return true
        case .found(let host?):
            return admit(device, to: host, now: now, into: &actions)
        case .unregistered, .moved:
            inFlight -= 1
            end(device, resolution == .moved ? .moved : .unregistered, now: now, into: &actions)
            devices.proceed(device)
        case .unavailable:
            inFlight -= 1
            let outcome = Outcome(.retry, reason: "directory-unavailable")
            retry(device, outcome, notBefore: nil, now: now, random: &random, into: &actions)
        case .noTransport:
            inFlight -= 1
            devices.makeNext(device)
            if let pause = throttles.pauseForCredentials("no-transport", now: now) { actions.pauses.append(pause) }
        }
        return false
    }

    private mutating func admit(
        _ device: Int,
        to host: String,
        now: Timestamp,
        into actions: inout CourierActions
    ) -> Bool {
        switch throttles.admit(devices[device].device, device, to: host, now: now) {
        case .send:
            devices[device].host = host
            if let stored = devices[device].waiting.first {
                recent.append((Attempt(queue: paging.index, device: device, stored: stored), now))
            }
            return true
        case .wait:
            inFlight -= 1
            devices[device].state = .held
        case .postponed(let until, let reason):
            inFlight -= 1
            if let stored = devices[device].waiting.first {
                actions.postponed.append(
                    stored.report(.postponed, reason: reason, attempt: stored.attempts, nextDue: until)
                )
            }
            devices.delay(device, until: until)
        case .later(let due):
            inFlight -= 1
            devices.delay(device, until: due)
        }
        return false
    }

    /// Records that a device's turn will be decided now. Returns the host that called it, if any.
    private mutating func answerCall(_ device: Int) -> String? {
        guard let caller = devices[device].caller else { return nil }
        devices[device].caller = nil
        throttles.hosts.answered(caller)
        return caller
    }

    /// Calls the next device of a host, because the one called before may not have used its slot.
    private mutating func callNext(_ caller: String?) {
        guard let caller else { return }
        makeReady(throttles.hosts.call(caller), calledBy: caller)
    }

    private mutating func makeReady(_ called: [Int], calledBy host: String) {
        for device in called {
            devices[device].caller = host
            devices.makeReady(device)
        }
    }

    // MARK: Outcomes

    /// Handles the outcome of an attempt. Ignores a second outcome of the same attempt.
    mutating func ended(
        _ attempt: Attempt,
        _ outcome: Outcome,
        now: Timestamp,
        random: inout some RandomNumberGenerator,
        into actions: inout CourierActions
    ) {
        guard devices.isUnderWay(attempt) else { return }
        let device = attempt.device
        inFlight -= 1
        if devices[device].isSlow {
            devices[device].isSlow = false
            slow -= 1
        }
        // In a queue with few attempts they would otherwise never be removed.
        while let first = recent.first, !devices.isUnderWay(first.attempt) || first.attempt.stored === attempt.stored {
            recent.removeFirst()
        }
        var hostPausedUntil: Timestamp?
        if let host = devices[device].host {
            hostPausedUntil = throttles.learn(from: outcome, of: devices[device].device, at: host, now: now)
            devices[device].host = nil
            makeReady(throttles.hosts.leave(host), calledBy: host)
        }
        switch outcome.kind {
        case .delivered: finish(device, .delivered, outcome, now: now, into: &actions)
        case .rejected where reduce(device, outcome, into: &actions): devices.makeReady(device)
        case .rejected: finish(device, .rejected, outcome, now: now, into: &actions)
        // The device's other deliveries will find it unregistered in their turn.
        case .gone: finish(device, .gone, outcome, now: now, into: &actions)
        case .retry:
            if outcome.scope == .transport, let pause = throttles.pauseForService(outcome, now: now) {
                actions.pauses.append(pause)
            }
            retry(device, outcome, notBefore: hostPausedUntil, now: now, random: &random, into: &actions)
        case .misconfigured:
            if let pause = throttles.pauseForCredentials(outcome.reason, now: now) { actions.pauses.append(pause) }
            retry(device, outcome, notBefore: nil, now: now, random: &random, into: &actions)
        }
    }

    private mutating func finish(
        _ device: Int,
        _ kind: DeliveryReport.Kind,
        _ outcome: Outcome,
        now: Timestamp,
        into actions: inout CourierActions
    ) {
        if throttles.succeed(isDelivered: kind == .delivered) { actions.resumed.append(name) }
        let failure =
            kind == .rejected ? FailedAttempt(.rejected, status: outcome.status, reason: outcome.reason) : nil
        end(device, kind, after: outcome, failure: failure, now: now, into: &actions)
        devices.proceed(device)
    }

    /// The reason for abandoning a delivery at the end of its lifetime.
    private func lastFailure(of stored: StoredDelivery) -> FailedAttempt {
        if let failure = stored.failure { return failure }
        guard let pause = throttles.lastPause else { return FailedAttempt(.retry, reason: "lifetime") }
        return FailedAttempt(pause.cause == .misconfigured ? .misconfigured : .retry, reason: pause.reason)
    }

    /// Ends the device's first delivery, with or without the outcome of an attempt. If there is a `failure`, it becomes
    /// a dead letter.
    private mutating func end(
        _ device: Int,
        _ kind: DeliveryReport.Kind,
        after outcome: Outcome? = nil,
        failure: FailedAttempt? = nil,
        now: Timestamp,
        into actions: inout CourierActions
    ) {
        guard let stored = devices.removeFirst(of: device) else { return }
        paging.end(stored)
        let attempts = stored.attempts + (outcome == nil ? 0 : 1)
        actions.changes.removals.append(stored.key)
        if let failure {
            actions.changes.newDeadLetters.append(
                OutboxChanges.NewDeadLetter(key: stored.key, failure: failure, failedAt: now, attempts: attempts)
            )
        }
        if kind == .gone || kind == .unregistered { actions.changes.forgotten.append(stored.delivery.device) }
        actions.reports.append(
            stored.report(
                kind,
                status: outcome?.status ?? 0,
                reason: outcome?.reason ?? kind.rawValue,
                attempt: attempts
            )
        )
    }

    /// Schedules a retry. `hostPausedUntil` is the end of its host's pause.
    private mutating func retry(
        _ device: Int,
        _ outcome: Outcome,
        notBefore hostPausedUntil: Timestamp?,
        now: Timestamp,
        random: inout some RandomNumberGenerator,
        into actions: inout CourierActions
    ) {
        guard let stored = devices[device].waiting.first else { return }
        let delivery = stored.delivery
        let attempts = stored.attempts + 1
        let due = policy.nextAttempt(
            of: delivery,
            attempts: attempts,
            retryAfter: outcome.retryAfter,
            now: now,
            random: &random
        )
        let isMisconfigured = outcome.kind == .misconfigured
        let failure = FailedAttempt(
            isMisconfigured ? .misconfigured : .retry,
            status: outcome.status,
            reason: outcome.reason
        )
        guard var due else {
            let kept = policy.outlives(delivery) ? failure : nil
            end(device, .expired, after: outcome, failure: kept, now: now, into: &actions)
            return devices.proceed(device)
        }
        if let hostPausedUntil, hostPausedUntil < policy.deadline(of: delivery) { due = max(due, hostPausedUntil) }
        actions.changes.reschedulings.append(
            OutboxChanges.Rescheduling(key: stored.key, due: due, attempts: attempts, failure: failure)
        )
        // A failure of the device affects all its deliveries, and a failure of the router none of them.
        let stopsBlocking = attempts >= limits.stopBlockingAfter && outcome.scope != .device && !outcome.isOfRouter
        let kind: DeliveryReport.Kind = isMisconfigured ? .misconfigured : .retry
        var report = stored.report(kind, status: outcome.status, reason: outcome.reason, attempt: attempts)
        report.nextDue = due
        report.stopsBlocking = stopsBlocking
        actions.reports.append(report)
        paging.noteRetry(stored.key)
        let rescheduled = stored.rescheduled(attempts: attempts, due: due, failure: failure)
        if stopsBlocking {
            _ = devices.removeFirst(of: device)
            devices.delay(rescheduled, until: due)
            devices.proceed(device)
        } else {
            devices[device].waiting[0] = rescheduled
            devices.delay(device, until: due)
        }
    }

    /// Replaces the device's first delivery with a reduced version. Returns false if it cannot be reduced further.
    ///
    /// The reduced version is only in memory: after a restart the original is tried again, with the same result.
    private mutating func reduce(_ device: Int, _ outcome: Outcome, into actions: inout CourierActions) -> Bool {
        guard let stored = devices[device].waiting.first,
            let reduced = stored.delivery.notification.downgraded(after: outcome)
        else { return false }
        var delivery = stored.delivery
        delivery.notification = reduced
        let attempts = stored.attempts + 1
        devices[device].waiting[0] = StoredDelivery(
            key: stored.key,
            delivery: delivery,
            attempts: attempts,
            due: stored.due,
            failure: stored.failure
        )
        actions.reports.append(
            stored.report(.reduced, status: outcome.status, reason: outcome.reason, attempt: attempts)
        )
        return true
    }

    // MARK: Operators

    /// Drops queued deliveries of this queue. Those in memory end here; the `absent` ones may be on disk.
    mutating func drop(
        _ entries: [QueueEntry],
        into actions: inout CourierActions
    ) -> (drop: QueueDrop, absent: [QueueEntry]) {
        let (removed, underWay, absent) = paging.drop(entries, from: &devices)
        for stored in removed {
            actions.changes.removals.append(stored.key)
            actions.reports.append(stored.report(.discarded, reason: "operator", attempt: stored.attempts))
        }
        return (QueueDrop(dropped: removed.count, underWay: underWay), absent)
    }

    /// Makes waiting deliveries of this queue due now. Returns their number.
    mutating func expedite(_ entries: [QueueEntry], now: Timestamp, into actions: inout CourierActions) -> Int {
        let (expedited, onDisk) = paging.expedite(entries, in: &devices, now: now)
        for stored in expedited {
            if let due = stored.due {
                actions.changes.reschedulings.append(
                    OutboxChanges.Rescheduling(key: stored.key, due: due, attempts: stored.attempts)
                )
            }
            actions.reports.append(
                stored.report(.requeued, reason: "operator", attempt: stored.attempts, nextDue: now)
            )
        }
        for entry in onDisk {
            guard let key = entry.key else { continue }
            actions.changes.immediateRetries.append(RetryPlace(due: now, key: key))
            actions.reports.append(entry.report(.requeued, nextDue: now))
        }
        return expedited.count + onDisk.count
    }

    // MARK: The disk

    /// Takes a requested page.
    mutating func take(
        _ page: OutboxPage,
        of part: OutboxRead.Part,
        now: Timestamp,
        into actions: inout CourierActions
    ) {
        for row in page.unreadable { drop(row, into: &actions) }
        paging.take(page, of: part, now: now, into: &devices)
    }

    private func drop(_ row: OutboxPage.Unreadable, into actions: inout CourierActions) {
        actions.changes.removals.append(row.key)
        actions.reports.append(
            DeliveryReport(
                delivery: row.id,
                device: DeviceID(rawValue: row.device),
                queue: name,
                kind: .unreadable,
                reason: "unreadable",
                attempt: 0
            )
        )
    }

    /// Moves all times back by `step`, like the clock.
    mutating func follow(clockSetBackBy step: Duration, into actions: inout CourierActions) {
        throttles.follow(clockSetBackBy: step)
        for index in recent.indices { recent[index].since -= step }
        actions.changes.reschedulings += devices.follow(clockSetBackBy: step)
    }
}

extension Outcome {
    /// Whether the router lacked capacity for the attempt. This does not depend on the device or the delivery.
    fileprivate var isOfRouter: Bool { status == 0 && (reason == "overloaded" || reason == "evicted") }
}

import Core
import Logging
import Push
import Storage
import Synchronization

/// Stores deliveries durably, and attempts each until it has a final outcome.
///
/// ``accept(_:causes:pace:)`` returns when deliveries are on disk. After that ``CourierQueues`` decides about attempts,
/// retries and ends, in batches on the courier's own serial queue. Transports may respond on any thread.
package final class Courier: Sendable {
    struct State: Sendable {
        var queues: CourierQueues
        var drains: [@Sendable () -> Void] = []
        var notFound = NotFoundTable()
        /// The time of the next alarm.
        var wakeAt: Timestamp?
    }

    private let environment: CourierEnvironment
    private let log: Logger
    // Internal for tests, which wait until both are idle.
    let mailbox = SerialMailbox<CourierMessage>(label: "carillon.courier")
    let writer: OutboxWriter
    let state: Mutex<State>
    private let withdrawals: SharedWithdrawals
    private let sender: AttemptSender
    private let fullTrouble: ErrorLog
    /// How the outbox's capacity is divided.
    package let capacity: OutboxCapacity
    /// The number of deliveries that were passed on and not taken by the queues yet.
    private let onTheWay = Atomic<Int>(0)
    private let maxInFlight: Int
    /// Couriers of the same router for other stores.
    private let others = Mutex<@Sendable () -> [Courier]>({ [] })

    /// Creates a courier that starts with ``start()``. Throws if the store cannot be read.
    package init(
        _ environment: CourierEnvironment,
        limits: CourierLimits = CourierLimits(),
        policy: RetryPolicy = RetryPolicy(),
        log: Logger
    ) throws {
        self.environment = environment
        self.log = log
        maxInFlight = limits.window
        fullTrouble = ErrorLog("The outbox is full; sources wait", level: .warning, logger: log)
        let waiting = try environment.store.outbox.waitingQueues()
        withdrawals = SharedWithdrawals(try environment.store.outbox.withdrawals())
        capacity = OutboxCapacity(
            limit: environment.store.outbox.limit,
            host: { [environment] device in
                // If a device cannot be looked up now, it does not count for its host.
                (try? environment.directory.address(of: device)).flatMap(environment.chosenHost)
            },
            now: environment.now,
            log: log
        )
        sender = AttemptSender(
            environment,
            trouble: ErrorLog("Devices could not be looked up or removed; trying again", logger: log),
            capacity: capacity,
            mailbox: mailbox
        )
        try environment.store.outbox.forEachWaiting { [capacity] queue, device in
            capacity.add(1, for: device, of: queue)
        }
        state = Mutex(
            State(
                queues: CourierQueues(
                    limits: limits,
                    policy: policy,
                    waiting: waiting,
                    withdrawals,
                    random: environment.random
                )
            )
        )
        let observer = environment.observer
        let trouble = ErrorLog("The outbox could not be written or read; attempts are paused", logger: log)
        writer = OutboxWriter(
            store: environment.store,
            now: environment.now,
            alarm: environment.alarm,
            received: { [mailbox] in mailbox.post(.event(.page($0, $1))) },
            isWritable: { [mailbox, now = environment.now] isWritable in
                if isWritable { trouble.passed(at: now()) }
                mailbox.post(.event(.disk(isWritable: isWritable)))
                if isWritable { observer.outboxRecovered() }
            },
            failed: { [now = environment.now] error in
                trouble.occurred(error, at: now())
                observer.outboxFailed(error)
            }
        )
    }

    /// Starts with the stored deliveries, and then takes accepted ones.
    package func start() {
        mailbox.post(.event(.wake))
        mailbox.open { [weak self] in self?.handle($0) }
    }

    /// Whether sources should stop, because the outbox has reached its limit.
    package var isFull: Bool {
        let isFull = environment.store.outbox.isFull
        if isFull { fullTrouble.occurred(at: environment.now()) } else { fullTrouble.passed(at: environment.now()) }
        return isFull
    }

    /// Deliveries without a final outcome.
    package var waiting: Int { environment.store.outbox.count }

    /// Includes `others` in the status of queues, and in calls that concern all queues. A router in a cluster has one
    /// courier for each partition.
    package func count(with others: @escaping @Sendable () -> [Courier]) { self.others.withLock { $0 = others } }

    /// The status of each queue that ever had a delivery.
    package var status: [QueueStatus] {
        others.withLock(\.self)().reduce(ownStatus) { QueueStatus.together($0, $1.ownStatus) }
    }

    private var ownStatus: [QueueStatus] {
        let now = environment.now()
        return state.withLock { $0.queues.status(now: now) }.map { status in
            var status = status
            (status.waiting, status.share) = capacity.usage(of: status.queue)
            return status
        }
    }

    /// The end of a device's pause, if the server that it chose asked for one or cannot be reached. Nil if there is
    /// none.
    package func pausedUntil(_ device: DeviceID, at address: DeviceAddress) -> Timestamp? {
        let queue = QueueName(platform: address.platform, app: address.app)
        let (host, now) = (environment.host(address), environment.now())
        return state.withLock { state in
            state.queues.queues.first { $0.name == queue }?.throttles.pausedUntil(device, at: host, now: now)
        }
    }

    /// Stores `deliveries`. When this returns, they survive a power failure and will be attempted. If it throws, none
    /// of them was accepted.
    ///
    /// `causes` are the ids of their events, and of events without notifications; see ``Outbox/forEachCause(_:)``.
    /// `pace` are changes of devices' paces. Both are written in the same transaction.
    ///
    /// Pass many deliveries at a time, because each call flushes to disk once. Can be called from any thread.
    package func accept(_ deliveries: [Delivery], causes: [[UInt8]] = [], pace: PaceChanges = PaceChanges()) throws {
        try environment.store.insert(deliveries, causes: causes, pace: pace, handOver: take)
        withdrawals.insert(pace.withdrawn)
    }

    /// Takes deliveries that were just written to disk.
    private func take(_ stored: [StoredDelivery]) {
        capacity.add(stored)
        guard onTheWay.load(ordering: .relaxed) < maxInFlight else { return leaveOnDisk(stored) }
        onTheWay.add(stored.count, ordering: .relaxed)
        mailbox.post(.event(.accepted(stored)))
    }

    // MARK: Operators

    /// Requeues dead letters under their ids. Returns how many of them still existed.
    package func requeue(_ letters: [QueueEntry]) throws -> Int {
        let now = environment.now()
        return try environment.store.requeue(letters.compactMap(\.letter), at: now) { stored in
            // This comes before the first attempt can end. A store may requeue them in several transactions.
            let requeued = Set(stored.map(\.delivery.id))
            let reports = letters.filter { requeued.contains($0.id) }.map { $0.report(.requeued, nextDue: now) }
            mailbox.post(.decided(reports, {}))
            take(stored)
        }
    }

    /// Whether the author deleted the event of a delivery, so that it is no longer sent.
    package func isWithdrawn(_ entry: QueueEntry) -> Bool { withdrawals.contains(entry.origin) }

    /// Drops queued deliveries, except those with an attempt in progress.
    package func drop(_ entries: [QueueEntry]) async -> QueueDrop {
        await withCheckedContinuation { continuation in
            mailbox.post(.drop(entries) { continuation.resume(returning: $0) })
        }
    }

    /// Reports that an operator dropped dead letters, which no longer belong to a queue.
    package func reportDropped(_ letters: [QueueEntry]) async {
        await withCheckedContinuation { continuation in
            mailbox.post(.decided(letters.map { $0.report(.discarded) }) { continuation.resume() })
        }
    }

    /// Makes waiting deliveries due now, and ends all pauses of some queues.
    package func expedite(_ entries: [QueueEntry], unpausing queues: Set<QueueName> = []) async -> ExpediteResult {
        await withCheckedContinuation { continuation in
            mailbox.post(.expedite(entries, unpausing: queues) { continuation.resume(returning: $0) })
        }
    }

    /// Calls `answer` after all previous messages were handled. This requires ``start()``, and does not happen if the
    /// courier is stuck.
    package func probe(_ answer: @escaping @Sendable () -> Void) {
        mailbox.post(.probe(answer))
    }

    /// Lets paused queues probe immediately, after credentials, transports or plugins were changed.
    package func resume() {
        mailbox.post(.event(.lift))
        for other in others.withLock(\.self)() { other.resume() }
    }

    /// Stops starting attempts. Returns when the outcomes of attempts in progress are on disk, or at `deadline`.
    /// Deliveries without a final outcome stay in the outbox for the next start.
    package func shutdown(deadline: Timestamp) async {
        await withCheckedContinuation { continuation in
            let gate = ShutdownGate(continuation)
            ring(at: deadline) { gate.open() }
            mailbox.post(.drain { gate.open() })
        }
    }

    /// Calls `action` at `time`, even if the alarm rings early. If the clock is set back, it calls too early rather
    /// than much too late.
    private func ring(at time: Timestamp, _ action: @escaping @Sendable () -> Void) {
        let begin = environment.now()
        environment.alarm.ring(at: time) { [weak self] in
            guard let self else { return action() }
            let now = environment.now()
            guard begin <= now, now < time else { return action() }
            ring(at: time, action)
        }
    }

    /// Reports to the queues only that more deliveries are on disk, because memory has enough.
    private func leaveOnDisk(_ deliveries: [StoredDelivery]) {
        var queues: [Int: StoredQueue] = [:]
        for stored in deliveries {
            let (number, name) = (stored.key.queue, stored.delivery.queue)
            queues[number] = StoredQueue(number: number, name: name, last: stored.key)
        }
        for queue in queues.values { mailbox.post(.event(.left(queue))) }
    }

    // MARK: Working

    /// Handles one batch. Runs only on the mailbox's queue. The state machine decides with the lock held; its actions
    /// are carried out without the lock.
    private func handle(_ messages: [CourierMessage]) {
        let ends = settle(messages)
        var actions = CourierActions()
        let now = environment.now()
        var taken = 0
        var answers: [@Sendable () -> Void] = []
        var drops: [(QueueDrop, absent: [QueueEntry], answer: @Sendable (QueueDrop) -> Void)] = []
        var decided: [DeliveryReport] = []
        state.withLock { state in
            for message in ends {
                switch message {
                case .gone(let attempt, _, _, let outcome), .proven(let attempt, let outcome):
                    state.queues.handle(.ended(attempt, outcome), now: now, into: &actions)
                case .event(let event):
                    switch event {
                    case .accepted(let deliveries): taken += deliveries.count
                    case .ended(let attempt, let outcome) where outcome.kind == .delivered:
                        state.notFound.forget(attempt.stored.delivery.device)
                    default: break
                    }
                    state.queues.handle(event, now: now, into: &actions)
                case .drain(let done):
                    state.queues.handle(.drain, now: now, into: &actions)
                    state.drains.append(done)
                case .probe(let answer):
                    answers.append(answer)
                case .drop(let entries, let answer):
                    let (drop, absent) = state.queues.drop(entries, into: &actions)
                    drops.append((drop, absent, answer))
                case .expedite(let entries, let queues, let answer):
                    let unpaused = state.queues.unpause(queues, now: now)
                    let expedited = state.queues.expedite(entries, now: now, into: &actions)
                    answers.append { answer(ExpediteResult(expedited: expedited, unpaused: unpaused)) }
                case .decided(let reports, let answer):
                    decided += reports
                    answers.append(answer)
                }
            }
            state.queues.advance(now: now, into: &actions)
        }
        onTheWay.subtract(taken, ordering: .relaxed)
        if !decided.isEmpty { environment.observer.deliveriesReported(decided) }
        for (drop, absent, answer) in drops { actions.discards.append(discard(absent, after: drop, answer)) }
        while true {
            carryOut(actions)
            guard !actions.lookups.isEmpty else { break }
            actions = attempt(actions.lookups, now: now)
        }
        if let wakeAt = actions.wakeAt { wake(at: wakeAt) }
        finishDrains()
        for answer in answers { answer() }
    }

    /// Drops deliveries on disk, and then answers. `drop` counts those that were in memory.
    private func discard(
        _ absent: [QueueEntry],
        after drop: QueueDrop,
        _ answer: @escaping @Sendable (QueueDrop) -> Void
    ) -> OutboxWriter.Discard {
        OutboxWriter.Discard(entries: absent) { [mailbox, capacity] removed in
            let reports = removed.map { $0.report(.discarded) }
            capacity.remove(reports)
            mailbox.post(
                .decided(reports) {
                    answer(QueueDrop(dropped: drop.dropped + removed.count, underWay: drop.underWay))
                }
            )
        }
    }

    /// Updates gone and proven devices in the registry, and returns the messages with the resulting outcomes.
    private func settle(_ messages: [CourierMessage]) -> [CourierMessage] {
        var proven: [DeviceID] = []
        let settled = messages.map { message -> CourierMessage in
            switch message {
            case .gone(let attempt, let registeredAt, isProven: true, let outcome)
            where outcome.reason == NotFoundTable.reason && !hasLasted(attempt, registeredAt):
                let again = Outcome(.retry, status: outcome.status, reason: outcome.reason, scope: .device)
                return CourierMessage.event(.ended(attempt, again))
            case .gone(let attempt, let registeredAt, _, let outcome):
                let settled = sender.settleGone(attempt, registeredAt: registeredAt, outcome)
                return CourierMessage.event(.ended(attempt, settled))
            case .proven(let attempt, _):
                proven.append(attempt.stored.delivery.device)
                return message
            case .event, .drain, .probe, .drop, .expedite, .decided: return message
            }
        }
        sender.markProven(proven)
        return settled
    }

    private func hasLasted(_ attempt: Attempt, _ registeredAt: Timestamp) -> Bool {
        let (device, now) = (attempt.stored.delivery.device, environment.now())
        return state.withLock { $0.notFound.hasLasted(device, registeredAt: registeredAt, now: now) }
    }

    private func carryOut(_ actions: CourierActions) {
        capacity.remove(actions.reports)
        if !actions.changes.isEmpty {
            var changes = actions.changes
            changes.ends = CompletedPush.all(of: actions.reports, at: environment.now())
            writer.mailbox.post(.changes(changes))
        }
        // Pages that are requested after this do not contain them.
        for discard in actions.discards { writer.mailbox.post(.discard(discard)) }
        for read in actions.reads { writer.mailbox.post(.read(read)) }
        if !actions.reports.isEmpty { environment.observer.deliveriesReported(actions.reports) }
        if !actions.postponed.isEmpty { environment.observer.deliveriesPostponed(actions.postponed) }
        for pause in actions.pauses {
            let metadata: Logger.Metadata = [
                "platform": "\(pause.queue.platform)", "app": "\(pause.queue.app)", "reason": "\(pause.reason)",
            ]
            switch pause.cause {
            case .misconfigured: log.error("queue paused: check credentials and plugin", metadata: metadata)
            case .asked: log.warning("queue paused: the push service asked for it", metadata: metadata)
            }
            environment.observer.queuePaused(pause)
        }
        for queue in actions.resumed {
            log.notice("queue resumed", metadata: ["platform": "\(queue.platform)", "app": "\(queue.app)"])
            environment.observer.queueResumed(queue)
        }
    }

    /// Finds the target of each attempt, and makes the admitted attempts.
    private func attempt(_ attempts: [Attempt], now: Timestamp) -> CourierActions {
        let targets = sender.targets(of: attempts, now: now) { try accept([$0]) }
        var actions = CourierActions()
        let admitted = state.withLock { state in
            let admitted = targets.indices.filter { place in
                state.queues.resolved(targets[place].attempt, targets[place].resolution, now: now, into: &actions)
            }
            state.queues.advance(now: now, into: &actions)
            return admitted
        }
        let starts = sender.send(targets, at: admitted, now: now)
        if !starts.isEmpty { environment.observer.attemptsBegan(starts) }
        return actions
    }

    private func wake(at time: Timestamp) {
        let isNew = state.withLock { state in
            if let wakeAt = state.wakeAt, wakeAt <= time { return false }
            state.wakeAt = time
            return true
        }
        guard isNew else { return }
        environment.alarm.ring(at: time) { [weak self] in
            self?.state.withLock { state in
                if state.wakeAt == time { state.wakeAt = nil }
            }
            self?.mailbox.post(.event(.wake))
        }
    }

    private func finishDrains() {
        let drains = state.withLock { state -> [@Sendable () -> Void] in
            guard state.queues.isDraining, state.queues.inFlight == 0 else { return [] }
            defer { state.drains = [] }
            return state.drains
        }
        for done in drains { writer.mailbox.post(.flush(done)) }
    }
}

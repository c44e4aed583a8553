import Logging
import Notifications
import Storage
import Synchronization

/// Takes deliveries, keeps them durably, and attempts each until it finds its end.
///
/// ``accept(_:)`` returns when deliveries are on disk. From there on every attempt, retry and end is decided by
/// ``CourierQueues``, on a serial queue of the courier's own, in batches; transports answer from any thread.
package final class Courier: Sendable {
    enum Message: Sendable {
        case event(CourierEvent)
        /// A push service says that a device is gone. `registeredAt` is the one of the address that was tried.
        case gone(Ticket, registeredAt: Int64, Outcome)
        /// A push service took the token of a device for the first time.
        case proven(Ticket, Outcome)
        /// Called when no attempt is under way any more and all outcomes are on disk.
        case drain(@Sendable () -> Void)
        /// Called when everything posted before was worked off.
        case probe(@Sendable () -> Void)
    }

    struct State: Sendable {
        var queues: CourierQueues
        var drains: [@Sendable () -> Void] = []
        /// When the alarm rings next, in milliseconds since 1970.
        var wakeAt: Int64?
    }

    let environment: CourierEnvironment
    let log: Logger
    let mailbox = SerialMailbox<Message>(label: "carillon.courier")
    let writer: OutboxWriter
    let state: Mutex<State>
    let directoryTrouble: TroubleLog
    private let fullTrouble: TroubleLog
    /// How the outbox is shared out.
    package let room: OutboxRoom
    /// Deliveries handed over and not yet taken by the queues.
    let onTheWay = Atomic<Int>(0)
    private let mostOnTheWay: Int

    /// A courier that attempts nothing before ``start()``. Throws when the store cannot be read.
    package init(
        _ environment: CourierEnvironment,
        limits: CourierLimits = CourierLimits(),
        policy: RetryPolicy = RetryPolicy(),
        log: Logger
    ) throws {
        self.environment = environment
        self.log = log
        mostOnTheWay = limits.window
        directoryTrouble = TroubleLog("Devices cannot be looked up or removed; trying again", logger: log)
        fullTrouble = TroubleLog("The outbox is full; sources wait", level: .warning, logger: log)
        let waiting = try environment.store.waitingQueues()
        room = OutboxRoom(
            limit: environment.store.limit,
            host: { [environment] device in
                // Whoever cannot be looked up now has nothing counted against their host.
                (try? environment.directory.address(of: device)).flatMap(environment.chosenHost)
            },
            now: environment.now,
            log: log
        )
        try environment.store.forEachWaiting { [room] queue, device in room.add(1, for: device, of: queue) }
        state = Mutex(
            State(
                queues: CourierQueues(limits: limits, policy: policy, waiting: waiting, random: environment.random)
            )
        )
        let observer = environment.observer
        let trouble = TroubleLog("The outbox cannot be written or read; nothing is attempted meanwhile", logger: log)
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

    /// Begins with what waits from before, and then takes what is accepted.
    package func start() {
        mailbox.post(.event(.wake))
        mailbox.open { [weak self] in self?.handle($0) }
    }

    /// Whether sources should stop, because the outbox has reached its limit.
    package var isFull: Bool {
        let isFull = environment.store.isFull
        if isFull { fullTrouble.occurred(at: environment.now()) } else { fullTrouble.passed(at: environment.now()) }
        return isFull
    }

    /// Deliveries that have not found their end.
    package var waiting: Int { environment.store.count }

    /// How each queue is now; queues that never had a delivery are missing.
    package var status: [QueueStatus] {
        let now = environment.now()
        return state.withLock { $0.queues.status(now: now) }.map { status in
            var status = status
            (status.waiting, status.share) = room.usage(of: status.queue)
            return status
        }
    }

    /// Takes responsibility for `deliveries`: when this returns they survive a power cut and will be attempted. When it
    /// throws, none of them was accepted.
    ///
    /// `causes` are the ids of the events they are for, and of others that shall wake nobody either, kept in the same
    /// transaction: see ``Outbox/forEachCause(_:)``.
    ///
    /// `pace` is what they mean for the paces of devices, in the same transaction too.
    ///
    /// Bring them in groups: each call flushes to disk once. Callable from any thread.
    package func accept(_ deliveries: [Delivery], causes: [[UInt8]] = [], pace: PaceChanges = PaceChanges()) throws {
        try environment.store.insert(deliveries, causes: causes, pace: pace) { stored in
            room.add(deliveries)
            guard onTheWay.load(ordering: .relaxed) < mostOnTheWay else { return leaveOnDisk(stored) }
            onTheWay.add(stored.count, ordering: .relaxed)
            mailbox.post(.event(.accepted(stored)))
        }
    }

    /// Calls `answer` once everything that was posted until now is worked off: not before ``start()``, and never if the courier is
    /// stuck.
    package func probe(_ answer: @escaping @Sendable () -> Void) {
        mailbox.post(.probe(answer))
    }

    /// Lets paused queues probe at once: credentials, transports or plugins were changed.
    package func resume() {
        mailbox.post(.event(.lift))
    }

    /// Begins no further attempts, and returns when the outcomes of those under way are on disk, or at `deadline`
    /// (milliseconds since 1970). What has not ended stays in the outbox for the next start.
    package func shutdown(deadline: Int64) async {
        await withCheckedContinuation { continuation in
            let gate = ShutdownGate(continuation)
            ring(at: deadline) { gate.open() }
            mailbox.post(.drain { gate.open() })
        }
    }

    /// Alarms may ring early; this one does not. If the clock is put back it rings too early rather than much too late.
    private func ring(at time: Int64, _ action: @escaping @Sendable () -> Void) {
        let begin = environment.now()
        environment.alarm.ring(at: time) { [weak self] in
            guard let self else { return action() }
            let now = environment.now()
            guard begin <= now, now < time else { return action() }
            ring(at: time, action)
        }
    }

    /// Memory has enough on its way: the queues only learn that there is more on disk.
    private func leaveOnDisk(_ deliveries: [StoredDelivery]) {
        var queues: [Int: StoredQueue] = [:]
        for stored in deliveries {
            let name = QueueName(platform: stored.delivery.platform, app: stored.delivery.app)
            queues[stored.key.queue] = StoredQueue(number: stored.key.queue, name: name, last: stored.key)
        }
        for queue in queues.values { mailbox.post(.event(.left(queue))) }
    }
}

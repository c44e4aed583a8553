import Core
import Push

/// All queues of a courier: the state machine that decides which attempts are made when, and handles their outcomes.
///
/// It uses no clock, lock, disk or network. Events are passed in with the time, and ``advance(now:into:)`` follows a
/// batch of them. The results are ``CourierActions``.
struct CourierQueues: Sendable {
    private let limits: CourierLimits
    private let policy: RetryPolicy
    private let withdrawals: SharedWithdrawals
    private var random: any RandomNumberGenerator & Sendable
    private(set) var queues: [CourierQueue] = []
    private var indices: [Int: Int] = [:]
    private(set) var isDraining = false
    private var isDiskWritable = true
    /// The latest time that the clock has shown.
    private var latest = Timestamp.distantPast

    /// The clock jump backwards that is ignored.
    static let tolerance: Duration = .seconds(1)

    /// `waiting` are the queues in the outbox at the start.
    init(
        limits: CourierLimits,
        policy: RetryPolicy,
        waiting: [StoredQueue],
        _ withdrawals: SharedWithdrawals = SharedWithdrawals(),
        random: any RandomNumberGenerator & Sendable
    ) {
        self.limits = limits
        self.policy = policy
        self.withdrawals = withdrawals
        self.random = random
        for queue in waiting {
            add(number: queue.number, name: queue.name, last: queue.last)
        }
    }

    /// The number of attempts in progress.
    var inFlight: Int { queues.reduce(0) { $0 + $1.inFlight } }

    func status(now: Timestamp) -> [QueueStatus] { queues.map { $0.status(now: now) } }

    mutating func handle(_ event: CourierEvent, now: Timestamp, into actions: inout CourierActions) {
        notice(now, into: &actions)
        switch event {
        case .accepted(let deliveries):
            for stored in deliveries {
                queues[index(of: stored.key.queue) { stored.delivery.queue }].accept(stored)
            }
        case .left(let stored):
            queues[index(of: stored.number) { stored.name }].paging.leave(upTo: stored.last)
        case .ended(let attempt, let outcome):
            queues[attempt.queue].ended(attempt, outcome, now: now, random: &random, into: &actions)
        case .page(let read, let page):
            queues[read.queue].take(page, of: read.part, now: now, into: &actions)
        case .wake:
            break
        case .lift:
            for queue in queues.indices { queues[queue].throttles.lift() }
        case .disk(let isWritable):
            isDiskWritable = isWritable
        case .drain:
            isDraining = true
        }
    }

    /// Drops queued deliveries. The `absent` ones are not in memory: they are on disk, or ended already.
    mutating func drop(
        _ entries: [QueueEntry],
        into actions: inout CourierActions
    ) -> (drop: QueueDrop, absent: [QueueEntry]) {
        var (all, absent) = (QueueDrop(dropped: 0, underWay: 0), [QueueEntry]())
        for (number, entries) in Self.byQueue(entries) {
            guard let index = indices[number] else { continue }
            let (drop, others) = queues[index].drop(entries, into: &actions)
            all.dropped += drop.dropped
            all.underWay += drop.underWay
            absent += others
        }
        return (all, absent)
    }

    /// Makes waiting deliveries due now. Returns their number.
    mutating func expedite(_ entries: [QueueEntry], now: Timestamp, into actions: inout CourierActions) -> Int {
        Self.byQueue(entries).reduce(0) { count, group in
            guard let index = indices[group.key] else { return count }
            return count + queues[index].expedite(group.value, now: now, into: &actions)
        }
    }

    /// Ends the pauses of these queues. Returns those that were paused.
    mutating func unpause(_ names: Set<QueueName>, now: Timestamp) -> [QueueName] {
        var paused: [QueueName] = []
        for index in queues.indices where names.contains(queues[index].name) {
            let status = queues[index].status(now: now)
            if status.pause != nil || status.pausedHosts > 0 { paused.append(queues[index].name) }
            queues[index].throttles.unpause(now: now)
        }
        return paused
    }

    private static func byQueue(_ entries: [QueueEntry]) -> [Int: [QueueEntry]] {
        Dictionary(grouping: entries.filter { $0.key != nil }) { $0.key?.queue ?? 0 }
    }

    /// Handles the result of a lookup. Returns whether the attempt should be made.
    mutating func resolved(
        _ attempt: Attempt,
        _ resolution: AddressLookup,
        now: Timestamp,
        into actions: inout CourierActions
    ) -> Bool {
        queues[attempt.queue].resolved(attempt, resolution, now: now, random: &random, into: &actions)
    }

    /// Starts all possible work in every queue, up to its limits.
    mutating func advance(now: Timestamp, into actions: inout CourierActions) {
        guard !isDraining, isDiskWritable else { return }
        for queue in queues.indices {
            queues[queue].advance(now: now, into: &actions)
            if let wakeAt = queues[queue].wakeAt {
                actions.wakeAt = min(wakeAt, actions.wakeAt ?? wakeAt)
            }
        }
    }

    /// Notes the time. If the clock was set back, every wait keeps its length.
    private mutating func notice(_ now: Timestamp, into actions: inout CourierActions) {
        guard latest > .distantPast, now < latest - Self.tolerance else {
            latest = max(latest, now)
            return
        }
        for queue in queues.indices { queues[queue].follow(clockSetBackBy: latest - now, into: &actions) }
        latest = now
    }

    private mutating func index(of number: Int, name: () -> QueueName) -> Int {
        if let index = indices[number] { return index }
        return add(number: number, name: name(), last: nil)
    }

    @discardableResult
    private mutating func add(number: Int, name: QueueName, last: OutboxKey?) -> Int {
        let index = queues.count
        let paging = QueuePaging(index: index, number: number, last: last, limits: limits)
        queues.append(CourierQueue(name, paging, limits: limits, policy: policy, withdrawals))
        indices[number] = index
        return index
    }
}

/// An event for a courier's queues.
enum CourierEvent: Sendable {
    /// Deliveries that were written to disk, in the order of their keys.
    case accepted([StoredDelivery])
    /// Deliveries that were written to disk and are not passed on, because memory has enough of them.
    case left(StoredQueue)
    /// An attempt ended.
    case ended(Attempt, Outcome)
    /// A requested page.
    case page(OutboxRead, OutboxPage)
    /// Time has passed.
    case wake
    /// The operator fixed a problem: paused queues probe now.
    case lift
    /// Whether the disk accepts changes. If not, no attempt starts, because a crash would repeat it.
    case disk(isWritable: Bool)
    /// Start no more attempts.
    case drain
}

/// The courier's next actions, in the order of the fields.
struct CourierActions: Sendable {
    var changes = OutboxChanges()
    var discards: [OutboxWriter.Discard] = []
    var reads: [OutboxRead] = []
    var reports: [DeliveryReport] = []
    /// Reports of postponed deliveries, which are neither attempts nor ends.
    var postponed: [DeliveryReport] = []
    var pauses: [QueuePause] = []
    var resumed: [QueueName] = []
    /// Attempts to start: look up each device's address, and then call ``CourierQueues/resolved(_:_:now:into:)``.
    var lookups: [Attempt] = []
    /// When to call again without other events.
    var wakeAt: Timestamp?
}

/// One attempt at one delivery.
struct Attempt: Sendable {
    /// The queue's index among the courier's queues.
    let queue: Int
    /// The device's index in that queue.
    let device: Int
    let stored: StoredDelivery
}

/// The result of looking up the address of a delivery's device.
enum AddressLookup: Sendable, Equatable {
    /// It has an address; `host` is set if attempts per host are counted.
    case found(host: String?)
    /// The device is no longer registered.
    case unregistered
    /// It is now on another platform or app, and the delivery was moved to that queue.
    case moved
    /// The directory could not be read.
    case unavailable
    /// It has an address, but no transport serves this queue.
    case noTransport
}

/// A request of a queue for a page from disk.
struct OutboxRead: Sendable, Equatable {
    enum Part: Sendable, Equatable {
        case firstTries(after: OutboxKey)
        case retries(from: RetryPlace)
    }

    /// The queue's index among the courier's queues.
    let queue: Int
    /// The queue's number in the outbox.
    let number: Int
    let part: Part
    let limit: Int
}

/// A message from other threads to a courier's own queue.
enum CourierMessage: Sendable {
    case event(CourierEvent)
    /// A push service reported a device as gone. `registeredAt` and `isProven` belong to the address that was tried.
    case gone(Attempt, registeredAt: Timestamp, isProven: Bool, Outcome)
    /// A push service accepted the token of a device for the first time.
    case proven(Attempt, Outcome)
    /// Drop queued deliveries.
    case drop([QueueEntry], @Sendable (QueueDrop) -> Void)
    /// Make waiting deliveries due now, and end the pauses of queues.
    case expedite([QueueEntry], unpausing: Set<QueueName>, @Sendable (ExpediteResult) -> Void)
    /// Decisions made elsewhere, and a function to call after they are reported.
    case decided([DeliveryReport], @Sendable () -> Void)
    /// A function to call when no attempt is in progress and all outcomes are on disk.
    case drain(@Sendable () -> Void)
    /// A function to call after all previous messages were handled.
    case probe(@Sendable () -> Void)
}

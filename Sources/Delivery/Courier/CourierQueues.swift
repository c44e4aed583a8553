import Notifications

/// All queues of a courier: the state machine that decides what is attempted when, and what follows from its outcome.
///
/// It knows no clock, lock, disk or network. Events go in, with the time; ``advance(now:into:)`` follows a batch of them;
/// what is to be done comes out as ``CourierActions``.
struct CourierQueues: Sendable {
    private let limits: CourierLimits
    private let policy: RetryPolicy
    private var random: any RandomNumberGenerator & Sendable
    private(set) var queues: [CourierQueue] = []
    private var indices: [Int: Int] = [:]
    private(set) var isDraining = false
    private var isDiskWritable = true
    /// The latest moment that the clock has shown.
    private var latest = Int64.min

    /// How far a clock may go back before anything is made of it, in milliseconds.
    static let tolerance: Int64 = 1000

    /// `waiting` is what the outbox holds from before.
    init(
        limits: CourierLimits,
        policy: RetryPolicy,
        waiting: [StoredQueue],
        random: any RandomNumberGenerator & Sendable
    ) {
        self.limits = limits
        self.policy = policy
        self.random = random
        for queue in waiting {
            let backlog = Backlog(storedQueue: queue.number, last: queue.last)
            add(number: queue.number, name: queue.name, backlog)
        }
    }

    /// Attempts under way.
    var inFlight: Int { queues.reduce(0) { $0 + $1.inFlight } }

    func status(now: Int64) -> [QueueStatus] { queues.map { $0.status(now: now) } }

    mutating func handle(_ event: CourierEvent, now: Int64, into actions: inout CourierActions) {
        notice(now, into: &actions)
        switch event {
        case .accepted(let deliveries):
            for stored in deliveries {
                let delivery = stored.delivery
                let queue = index(of: stored.key.queue) {
                    QueueName(platform: delivery.platform, app: delivery.app)
                }
                queues[queue].accept(stored)
            }
        case .left(let stored):
            queues[index(of: stored.number) { stored.name }].backlog.leave(upTo: stored.last)
        case .ended(let ticket, let outcome):
            queues[ticket.queue].ended(ticket, outcome, now: now, random: &random, into: &actions)
        case .page(let read, let page):
            queues[read.queue].take(page, of: read.part, now: now, into: &actions)
        case .wake:
            break
        case .lift:
            for queue in queues.indices {
                queues[queue].gate.lift()
                queues[queue].service.lift()
            }
        case .disk(let isWritable):
            isDiskWritable = isWritable
        case .drain:
            isDraining = true
        }
    }

    /// Answers one of the lookups; true when the attempt shall be made.
    mutating func resolved(
        _ ticket: Ticket,
        _ resolution: Resolution,
        now: Int64,
        into actions: inout CourierActions
    ) -> Bool {
        queues[ticket.queue].resolved(ticket, resolution, now: now, random: &random, into: &actions)
    }

    /// Begins what may begin now, in every queue up to its own limits.
    mutating func advance(now: Int64, into actions: inout CourierActions) {
        guard !isDraining, isDiskWritable else { return }
        for queue in queues.indices {
            queues[queue].advance(now: now, into: &actions)
            if let wakeAt = queues[queue].wakeAt {
                actions.wakeAt = min(wakeAt, actions.wakeAt ?? wakeAt)
            }
        }
    }

    /// Looks at the clock. Where it was put back, what waits for a moment waits as long as it would have, and not until that comes again.
    private mutating func notice(_ now: Int64, into actions: inout CourierActions) {
        guard latest > .min, now < latest - Self.tolerance else {
            latest = max(latest, now)
            return
        }
        for queue in queues.indices { queues[queue].follow(clockSetBackBy: latest - now, into: &actions) }
        latest = now
    }

    private mutating func index(of number: Int, name: () -> QueueName) -> Int {
        if let index = indices[number] { return index }
        return add(number: number, name: name(), Backlog(newQueue: number))
    }

    @discardableResult
    private mutating func add(number: Int, name: QueueName, _ backlog: Backlog) -> Int {
        let index = queues.count
        queues.append(
            CourierQueue(index: index, number: number, name: name, backlog: backlog, limits: limits, policy: policy)
        )
        indices[number] = index
        return index
    }
}

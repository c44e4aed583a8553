import Core
import Push
import TimeTestSupport

@testable import Delivery

/// Drives the state machine like its shell: one event at a time, and the resulting actions.
struct QueuesDriver {
    var queues: CourierQueues
    var now: Timestamp = 1_700_000_000_000
    /// Attempts in flight, in the order in which they started.
    private(set) var attempts: [Attempt] = []
    private(set) var reports: [DeliveryReport] = []
    private(set) var postponed: [DeliveryReport] = []
    private(set) var changes = OutboxChanges()
    private(set) var reads: [OutboxRead] = []
    private(set) var pauses: [QueuePause] = []
    private(set) var resumed: [QueueName] = []
    private(set) var wakeAt: Timestamp?
    /// The result of a lookup.
    var resolve: (Delivery) -> AddressLookup = { _ in .found(host: nil) }
    private var nextSequence: Int64 = 1

    init(
        limits: CourierLimits = CourierLimits(),
        policy: RetryPolicy = RetryPolicy(),
        waiting: [StoredQueue] = [],
        random: any RandomNumberGenerator & Sendable = LargestGenerator()
    ) {
        queues = CourierQueues(limits: limits, policy: policy, waiting: waiting, random: random)
    }

    /// The numbers from which the deliveries in flight were made.
    var numbersUnderWay: [Int] { attempts.map { $0.stored.delivery.number } }

    @discardableResult
    mutating func accept(_ deliveries: Delivery...) -> [StoredDelivery] { accept(deliveries) }

    @discardableResult
    mutating func accept(_ deliveries: [Delivery]) -> [StoredDelivery] {
        let names = ["ios", "android", "unifiedpush", "web"]
        let stored = deliveries.map { delivery in
            defer { nextSequence += 1 }
            let queue = (names.firstIndex(of: delivery.platform) ?? names.count) + 1
            return StoredDelivery(key: OutboxKey(queue: queue, sequence: nextSequence), delivery: delivery)
        }
        handle(.accepted(stored))
        return stored
    }

    /// Ends the attempt in flight for the delivery made of `number`.
    mutating func end(_ number: Int, _ outcome: Outcome) {
        guard let index = attempts.firstIndex(where: { $0.stored.delivery.number == number }) else { return }
        handle(.ended(attempts.remove(at: index), outcome))
    }

    mutating func advance(to time: Timestamp) {
        now = time
        handle(.wake)
    }

    mutating func advance(by milliseconds: Duration) { advance(to: now + milliseconds) }

    mutating func handle(_ event: CourierEvent) {
        var actions = CourierActions()
        queues.handle(event, now: now, into: &actions)
        queues.advance(now: now, into: &actions)
        while true {
            keep(actions)
            guard !actions.lookups.isEmpty else { return }
            let lookups = actions.lookups
            actions = CourierActions()
            for attempt in lookups {
                let resolution = resolve(attempt.stored.delivery)
                if queues.resolved(attempt, resolution, now: now, into: &actions) { attempts.append(attempt) }
            }
            queues.advance(now: now, into: &actions)
        }
    }

    private mutating func keep(_ actions: CourierActions) {
        changes.append(actions.changes)
        reads += actions.reads
        reports += actions.reports
        postponed += actions.postponed
        pauses += actions.pauses
        resumed += actions.resumed
        wakeAt = actions.wakeAt
    }
}

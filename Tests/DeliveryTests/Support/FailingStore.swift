import Delivery
import Notifications
import Synchronization
import Units

/// A store whose disk refuses when told to.
final class FailingStore: DeliveryStore {
    struct Failures: Sendable {
        var insertions = false
        /// How many of the next changes fail.
        var changes = 0
        /// How many of the next pages fail.
        var pages = 0
    }

    private let store: Outbox
    private let failures: Mutex<Failures>

    init(_ store: Outbox, _ failures: Failures = Failures()) {
        self.store = store
        self.failures = Mutex(failures)
    }

    func fail(_ change: @Sendable (inout Failures) -> Void) { failures.withLock { change(&$0) } }

    func insert(
        _ deliveries: [Delivery],
        causes: [[UInt8]],
        pace: PaceChanges,
        handOver: ([StoredDelivery]) -> Void
    ) throws {
        if failures.withLock({ $0.insertions }) { throw DiskFailure() }
        try store.insert(deliveries, causes: causes, pace: pace, handOver: handOver)
    }

    func apply(_ changes: OutboxChanges) throws {
        guard !changes.isEmpty else { return }
        try spend(\.changes)
        try store.apply(changes)
    }

    func firstTries(of queue: Int, after: OutboxKey, limit: Int) throws -> OutboxPage {
        try spend(\.pages)
        return try store.firstTries(of: queue, after: after, limit: limit)
    }

    func retries(of queue: Int, from place: RetryPlace, limit: Int) throws -> OutboxPage {
        try spend(\.pages)
        return try store.retries(of: queue, from: place, limit: limit)
    }

    func withdrawals() throws -> [Withdrawal] { try store.withdrawals() }

    func present(_ keys: [OutboxKey]) throws -> Set<OutboxKey> { try store.present(keys) }

    func revive(
        _ letters: [DeadLetterNumber],
        at now: Timestamp,
        handOver: ([StoredDelivery]) -> Void
    ) throws -> Int {
        if failures.withLock({ $0.insertions }) { throw DiskFailure() }
        return try store.revive(letters, at: now, handOver: handOver)
    }

    func waitingQueues() throws -> [StoredQueue] { try store.waitingQueues() }

    func forEachWaiting(_ body: (QueueName, DeviceID) -> Void) throws { try store.forEachWaiting(body) }

    var limit: Int { store.limit }

    var count: Int { store.count }

    var isFull: Bool { store.isFull }

    private func spend(_ kind: WritableKeyPath<Failures, Int>) throws {
        let fails = failures.withLock { failures in
            guard failures[keyPath: kind] > 0 else { return false }
            failures[keyPath: kind] -= 1
            return true
        }
        if fails { throw DiskFailure() }
    }
}

import Core
import Delivery
import Push
import Synchronization

/// A store whose disk fails on request.
final class FailingStore: DeliveryStore {
    struct Failures: Sendable {
        var insertions = false
        /// The number of next changes that fail.
        var changes = 0
        /// The number of next pages that fail.
        var pages = 0
    }

    let outbox: Outbox
    private let failures: Mutex<Failures>

    init(_ store: Outbox, _ failures: Failures = Failures()) {
        outbox = store
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
        try outbox.insert(deliveries, causes: causes, pace: pace, handOver: handOver)
    }

    func apply(_ changes: OutboxChanges) throws {
        guard !changes.isEmpty else { return }
        try spend(\.changes)
        try outbox.apply(changes)
    }

    func firstTries(of queue: Int, after: OutboxKey, limit: Int) throws -> OutboxPage {
        try spend(\.pages)
        return try outbox.firstTries(of: queue, after: after, limit: limit)
    }

    func retries(of queue: Int, from place: RetryPlace, limit: Int) throws -> OutboxPage {
        try spend(\.pages)
        return try outbox.retries(of: queue, from: place, limit: limit)
    }

    func requeue(
        _ letters: [DeadLetterNumber],
        at now: Timestamp,
        handOver: ([StoredDelivery]) -> Void
    ) throws -> Int {
        if failures.withLock({ $0.insertions }) { throw DiskFailure() }
        return try outbox.requeue(letters, at: now, handOver: handOver)
    }

    func removeDeadLetters(_ letters: [DeadLetterNumber]) throws -> Int { try outbox.removeDeadLetters(letters) }

    func pruneDeadLetters(at now: Timestamp, isRegistered: (DeviceID) throws -> Bool) throws {
        try outbox.pruneDeadLetters(at: now, isRegistered: isRegistered)
    }

    private func spend(_ kind: WritableKeyPath<Failures, Int>) throws {
        let fails = failures.withLock { failures in
            guard failures[keyPath: kind] > 0 else { return false }
            failures[keyPath: kind] -= 1
            return true
        }
        if fails { throw DiskFailure() }
    }
}

/// An error of a fake disk.
struct DiskFailure: Error {}

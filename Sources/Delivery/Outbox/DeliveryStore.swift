import Core
import Push

/// The durable queue of the courier: ``Outbox``, or a log that several routers share.
package protocol DeliveryStore: Sendable {
    /// The outbox with the deliveries.
    var outbox: Outbox { get }

    /// Stores all of `deliveries` in one transaction, or throws and stores none. When this returns, they survive a
    /// power failure.
    ///
    /// `causes` are the ids of their events, and of events without notifications. They are kept even after the
    /// deliveries end, so that an event is recognised after a restart. There may be causes without deliveries. `pace`
    /// is applied in the same transaction. If there are deliveries, `handOver` is called once, after the commit and
    /// before any other insertion starts. Its calls therefore have the order of the keys.
    func insert(
        _ deliveries: [Delivery],
        causes: [[UInt8]],
        pace: PaceChanges,
        handOver: ([StoredDelivery]) -> Void
    ) throws

    /// Applies all of `changes` in one transaction, or throws and applies none. When this returns, they survive a crash
    /// of the process. A power failure may undo those since the last insertion, which causes repeats. A flush only for
    /// outcomes would delay every insertion.
    func apply(_ changes: OutboxChanges) throws

    /// Returns deliveries of `queue` after `after` that wait for their first attempt, in order of acceptance.
    func firstTries(of queue: Int, after: OutboxKey, limit: Int) throws -> OutboxPage

    /// Returns deliveries of `queue` from `place` on that wait for a retry, by due time.
    func retries(of queue: Int, from place: RetryPlace, limit: Int) throws -> OutboxPage

    /// Requeues dead letters under their ids and accepted at `now`, in one transaction that survives a power failure.
    /// `handOver` is called as for an insertion. Returns how many of them existed.
    func requeue(_ letters: [DeadLetterNumber], at now: Timestamp, handOver: ([StoredDelivery]) -> Void) throws -> Int

    /// Deletes dead letters. Returns how many existed.
    func removeDeadLetters(_ letters: [DeadLetterNumber]) throws -> Int

    /// Deletes dead letters that are too old at `now`, or whose device `isRegistered` denies. Deletes all of them if
    /// none should be kept.
    func pruneDeadLetters(at now: Timestamp, isRegistered: (DeviceID) throws -> Bool) throws
}

extension DeliveryStore {
    package func insert(
        _ deliveries: [Delivery],
        causes: [[UInt8]] = [],
        handOver: ([StoredDelivery]) -> Void
    ) throws {
        try insert(deliveries, causes: causes, pace: PaceChanges(), handOver: handOver)
    }
}

/// Changes to deliveries in the outbox, gathered for one transaction.
package struct OutboxChanges: Sendable, Equatable {
    /// A delivery that waits for a retry.
    package struct Rescheduling: Sendable, Equatable {
        package var key: OutboxKey
        package var due: Timestamp
        /// Attempts that have ended so far.
        package var attempts: Int
        /// The failure of the last one; nil keeps the stored one.
        package var failure: FailedAttempt?

        package init(key: OutboxKey, due: Timestamp, attempts: Int, failure: FailedAttempt? = nil) {
            self.key = key
            self.due = due
            self.attempts = attempts
            self.failure = failure
        }
    }

    /// A removed delivery that failed permanently, and becomes a dead letter.
    package struct NewDeadLetter: Sendable, Equatable {
        package var key: OutboxKey
        package var failure: FailedAttempt
        package var failedAt: Timestamp
        /// Attempts that were made.
        package var attempts: Int

        package init(key: OutboxKey, failure: FailedAttempt, failedAt: Timestamp, attempts: Int) {
            self.key = key
            self.failure = failure
            self.failedAt = failedAt
            self.attempts = attempts
        }
    }

    /// Deliveries that have a final outcome.
    package var removals: [OutboxKey] = []
    /// Those of them that become dead letters.
    package var newDeadLetters: [NewDeadLetter] = []
    /// Deliveries with a new due time. Applied in this order, before the removals.
    package var reschedulings: [Rescheduling] = []
    /// Waiting deliveries to make due for an operator, unless they are due earlier; applied after ``reschedulings``.
    package var immediateRetries: [RetryPlace] = []
    /// Devices that are no longer registered: their dead letters are deleted.
    package var forgotten: [DeviceID] = []
    /// The ends of deliveries, for their devices' paces.
    package var ends: [CompletedPush] = []

    package init() {}

    package var isEmpty: Bool {
        removals.isEmpty && reschedulings.isEmpty && ends.isEmpty && immediateRetries.isEmpty && forgotten.isEmpty
    }

    mutating func append(_ later: OutboxChanges) {
        if isEmpty {
            self = later
        } else {
            removals += later.removals
            newDeadLetters += later.newDeadLetters
            reschedulings += later.reschedulings
            immediateRetries += later.immediateRetries
            forgotten += later.forgotten
            ends += later.ends
        }
    }
}

/// A delivery as the outbox stores it. It is a class, because a delivery is a large value with many strings, and queues
/// only pass it on.
package final class StoredDelivery: Sendable {
    package let key: OutboxKey
    package let delivery: Delivery
    /// Attempts that have ended so far.
    package let attempts: Int
    /// When the next attempt is due; nil if it waits for its first turn, in order.
    package let due: Timestamp?
    /// The failure of the last attempt; nil before the first.
    package let failure: FailedAttempt?

    package init(
        key: OutboxKey,
        delivery: Delivery,
        attempts: Int = 0,
        due: Timestamp? = nil,
        failure: FailedAttempt? = nil
    ) {
        self.key = key
        self.delivery = delivery
        self.attempts = attempts
        self.due = due
        self.failure = failure
    }

    /// Returns the same delivery after a failed attempt, or with another due time.
    func rescheduled(attempts: Int, due: Timestamp, failure: FailedAttempt? = nil) -> StoredDelivery {
        StoredDelivery(
            key: key,
            delivery: delivery,
            attempts: attempts,
            due: due,
            failure: failure ?? self.failure
        )
    }

    /// Returns a report of a decision about it.
    func report(
        _ kind: DeliveryReport.Kind,
        status: UInt32 = 0,
        reason: String,
        attempt: Int,
        nextDue: Timestamp? = nil
    ) -> DeliveryReport {
        DeliveryReport(
            delivery: delivery.id,
            device: delivery.device,
            queue: delivery.queue,
            kind: kind,
            status: status,
            reason: reason,
            attempt: attempt,
            nextDue: nextDue,
            acceptedAt: delivery.acceptedAt,
            mode: delivery.notification.mode
        )
    }
}

/// A queue with deliveries on disk, as found when the outbox was opened.
package struct StoredQueue: Sendable {
    package var number: Int
    package var name: QueueName
    /// The last of its deliveries that is still stored.
    package var last: OutboxKey

    package init(number: Int, name: QueueName, last: OutboxKey) {
        self.number = number
        self.name = name
        self.last = last
    }
}

/// A part of a queue's deliveries on disk, in the order of their attempts.
package struct OutboxPage: Sendable {
    /// A row that cannot be read, and will be reported and removed.
    package struct Unreadable: Sendable {
        package let key: OutboxKey
        /// ``DeliveryID/unknown`` if it cannot be read either.
        package let id: DeliveryID
        package let device: Int64
    }

    package var deliveries: [StoredDelivery] = []
    package var unreadable: [Unreadable] = []
    /// Whether no more deliveries came after this page when it was read.
    package var isLast: Bool

    package init(deliveries: [StoredDelivery] = [], isLast: Bool) {
        self.deliveries = deliveries
        self.isLast = isLast
    }
}

/// The name of a queue of deliveries. Each platform of each app has a separate queue, so that one push service never
/// starves another.
package struct QueueName: Hashable, Sendable {
    package var platform: String
    package var app: String

    package init(platform: String, app: String) {
        self.platform = platform
        self.app = app
    }
}

extension Delivery {
    /// The delivery's queue.
    package var queue: QueueName { QueueName(platform: platform, app: app) }
}

/// A delivery's key in the outbox: its queue's number and, in the lower bits, the order of acceptance.
///
/// Both share one integer, which is SQLite's rowid. The rows of a queue are thus stored together on disk and in order.
/// A page of one queue never reads rows of another, and needs no index.
package struct OutboxKey: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    private static let sequenceBits: Int64 = 44
    static let largestSequence: Int64 = 1 << sequenceBits - 1

    /// Numbers of queues are in `1...largestQueue`.
    package static let largestQueue = 1 << 18

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// `sequence` grows with every accepted delivery of any queue. Deliveries that are accepted together are numbered
    /// queue by queue.
    package init(queue: Int, sequence: Int64) {
        self.rawValue = Int64(queue) << Self.sequenceBits | sequence
    }

    package var queue: Int { Int(rawValue >> Self.sequenceBits) }

    package var sequence: Int64 { rawValue & Self.largestSequence }

    /// A key below every delivery of that queue.
    static func lowest(of queue: Int) -> OutboxKey { OutboxKey(queue: queue, sequence: 0) }

    /// A key above every delivery of that queue.
    static func highest(of queue: Int) -> OutboxKey { OutboxKey(queue: queue, sequence: largestSequence) }

    package static func < (left: OutboxKey, right: OutboxKey) -> Bool { left.rawValue < right.rawValue }
}

/// A delivery's position among those that wait for a retry: by due time, then by acceptance.
package struct RetryPlace: Hashable, Comparable, Sendable {
    package var due: Timestamp
    package var key: OutboxKey

    package init(due: Timestamp, key: OutboxKey) {
        self.due = due
        self.key = key
    }

    package static func < (left: RetryPlace, right: RetryPlace) -> Bool {
        (left.due, left.key) < (right.due, right.key)
    }
}

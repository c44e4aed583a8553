import Core
import Push

/// The durable queue behind the courier: ``Outbox``, or a log that several routers share.
package protocol DeliveryStore: Sendable {
    /// The outbox with the deliveries.
    var outbox: Outbox { get }

    /// Stores all of `deliveries` in one transaction, or throws and stores none. When this returns they survive a power
    /// cut.
    ///
    /// `causes` are the ids of the events that they are for, and of events that wake nobody: stored with the deliveries
    /// and kept beyond their end, so that an event is recognized when it comes again after a restart. Causes may come
    /// alone. `pace` is applied in the same transaction. `handOver` is called once if there are deliveries, after the
    /// commit and before any other insertion begins: so what it passes on arrives in the order of the keys.
    func insert(
        _ deliveries: [Delivery],
        causes: [[UInt8]],
        pace: PaceChanges,
        handOver: ([StoredDelivery]) -> Void
    ) throws

    /// Applies all of `changes` in one transaction, or throws and applies none. When this returns they survive the
    /// process; a power cut may undo those since the last insertion, which means repeats. A flush for outcomes alone
    /// would hold up every insertion.
    func apply(_ changes: OutboxChanges) throws

    /// Deliveries of `queue` after `after` that wait for their first attempt, in order of acceptance.
    func firstTries(of queue: Int, after: OutboxKey, limit: Int) throws -> OutboxPage

    /// Deliveries of `queue` from `place` on that wait for a further attempt, by due time.
    func retries(of queue: Int, from place: RetryPlace, limit: Int) throws -> OutboxPage

    /// Makes dead letters deliveries again, under their ids and accepted at `now`, in one transaction that survives a
    /// power cut. `handOver` is called as by an insertion. Returns how many of them there were.
    func revive(_ letters: [DeadLetterNumber], at now: Timestamp, handOver: ([StoredDelivery]) -> Void) throws -> Int
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

/// A store whose dead letters operators look at, send again and drop.
package protocol DeadLetterStore: DeliveryStore {
    /// Returns how many there were.
    func removeDeadLetters(_ letters: [DeadLetterNumber]) throws -> Int

    /// Drops dead letters whose days are over at `now`, or whose device `isRegistered` denies; all of them where none
    /// are to be kept.
    func pruneDeadLetters(at now: Timestamp, isRegistered: (DeviceID) throws -> Bool) throws
}

/// Changes to deliveries in the outbox, gathered for one transaction.
package struct OutboxChanges: Sendable, Equatable {
    /// A delivery that waits for a further attempt.
    package struct Rescheduling: Sendable, Equatable {
        package var key: OutboxKey
        package var due: Timestamp
        /// Attempts that have ended so far.
        package var attempts: Int
        /// How the last of them failed; nil: as is known already.
        package var failure: DeliveryFailure?

        package init(key: OutboxKey, due: Timestamp, attempts: Int, failure: DeliveryFailure? = nil) {
            self.key = key
            self.due = due
            self.attempts = attempts
            self.failure = failure
        }
    }

    /// A delivery that an operator wants to be tried at once.
    package struct Hastening: Sendable, Equatable {
        package var key: OutboxKey
        package var due: Timestamp

        package init(key: OutboxKey, due: Timestamp) {
            self.key = key
            self.due = due
        }
    }

    /// A removed delivery that failed for good, and is kept for a while.
    package struct Burial: Sendable, Equatable {
        package var key: OutboxKey
        package var failure: DeliveryFailure
        package var failedAt: Timestamp
        /// Attempts that were made.
        package var attempts: Int

        package init(key: OutboxKey, failure: DeliveryFailure, failedAt: Timestamp, attempts: Int) {
            self.key = key
            self.failure = failure
            self.failedAt = failedAt
            self.attempts = attempts
        }
    }

    /// Deliveries that have a final outcome.
    package var removals: [OutboxKey] = []
    /// Those of them that become dead letters.
    package var burials: [Burial] = []
    /// Applied in this order, before the removals.
    package var reschedulings: [Rescheduling] = []
    /// Deliveries that are due now at the latest, as far as they wait for a due time; applied after those.
    package var hastenings: [Hastening] = []
    /// Devices that are no longer registered: their dead letters go.
    package var forgotten: [DeviceID] = []
    /// What the ends of deliveries mean for their devices' paces.
    package var ends: [PushEnd] = []

    package init() {}

    package var isEmpty: Bool {
        removals.isEmpty && reschedulings.isEmpty && ends.isEmpty && hastenings.isEmpty && forgotten.isEmpty
    }

    mutating func append(_ later: OutboxChanges) {
        if isEmpty {
            self = later
        } else {
            removals += later.removals
            burials += later.burials
            reschedulings += later.reschedulings
            hastenings += later.hastenings
            forgotten += later.forgotten
            ends += later.ends
        }
    }
}

/// A delivery as the outbox stores it. A class, because a delivery is a large value with many strings that queues only
/// pass on.
package final class StoredDelivery: Sendable {
    package let key: OutboxKey
    package let delivery: Delivery
    /// Attempts that have ended so far.
    package let attempts: Int
    /// When the next attempt is due; nil: it waits for its first turn, in order.
    package let due: Timestamp?
    /// How the last attempt failed; nil before the first.
    package let failure: DeliveryFailure?

    package init(
        key: OutboxKey,
        delivery: Delivery,
        attempts: Int = 0,
        due: Timestamp? = nil,
        failure: DeliveryFailure? = nil
    ) {
        self.key = key
        self.delivery = delivery
        self.attempts = attempts
        self.due = due
        self.failure = failure
    }

    /// The same after a failed attempt, or at another time.
    func rescheduled(attempts: Int, due: Timestamp, failure: DeliveryFailure? = nil) -> StoredDelivery {
        StoredDelivery(
            key: key,
            delivery: delivery,
            attempts: attempts,
            due: due,
            failure: failure ?? self.failure
        )
    }

    /// What was decided about it.
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

/// Part of a queue's deliveries on disk, in the order in which they are to be attempted.
package struct OutboxPage: Sendable {
    /// A row that cannot be read; it is reported and removed.
    package struct Unreadable: Sendable {
        package let key: OutboxKey
        /// Unknown where that cannot be read either.
        package let id: DeliveryID
        package let device: Int64
    }

    package var deliveries: [StoredDelivery] = []
    package var unreadable: [Unreadable] = []
    /// Whether there was nothing behind this page when it was read.
    package var isLast: Bool

    package init(deliveries: [StoredDelivery] = [], isLast: Bool) {
        self.deliveries = deliveries
        self.isLast = isLast
    }
}

/// Names a queue of deliveries. Each platform of each app has its own, so that one push service never starves another.
package struct QueueName: Hashable, Sendable {
    package var platform: String
    package var app: String

    package init(platform: String, app: String) {
        self.platform = platform
        self.app = app
    }
}

extension Delivery {
    /// The queue that it waits in.
    package var queue: QueueName { QueueName(platform: platform, app: app) }
}

/// A delivery's place in the outbox: its queue's number and, below it, the order of acceptance.
///
/// Both share one integer, which is SQLite's rowid: the rows of a queue lie together on disk and in order, so that a
/// page of one queue never reads through another's rows, and no index is needed for it.
package struct OutboxKey: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    private static let sequenceBits: Int64 = 44
    static let largestSequence: Int64 = 1 << sequenceBits - 1

    /// Numbers of queues lie in `1...largestQueue`.
    package static let largestQueue = 1 << 18

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// `sequence` rises with every delivery accepted, whatever its queue, except that those which are accepted together
    /// are numbered queue by queue.
    package init(queue: Int, sequence: Int64) {
        self.rawValue = Int64(queue) << Self.sequenceBits | sequence
    }

    package var queue: Int { Int(rawValue >> Self.sequenceBits) }

    package var sequence: Int64 { rawValue & Self.largestSequence }

    /// Lies below every delivery of that queue.
    static func lowest(of queue: Int) -> OutboxKey { OutboxKey(queue: queue, sequence: 0) }

    /// Lies above every delivery of that queue.
    static func highest(of queue: Int) -> OutboxKey { OutboxKey(queue: queue, sequence: largestSequence) }

    package static func < (left: OutboxKey, right: OutboxKey) -> Bool { left.rawValue < right.rawValue }
}

/// A delivery's position among those that wait for a further attempt: by due time, then by acceptance.
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

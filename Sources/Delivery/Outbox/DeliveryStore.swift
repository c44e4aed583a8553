import Notifications
import Units

/// The durable queue behind the courier: ``Outbox`` on one machine, a stream of a cluster elsewhere.
package protocol DeliveryStore: Sendable {
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

    /// Those of `keys` whose deliveries are stored.
    func present(_ keys: [OutboxKey]) throws -> Set<OutboxKey>

    /// Makes dead letters deliveries again, under their ids and accepted at `now`, in one transaction that survives a
    /// power cut. `handOver` is called as by an insertion. Returns how many of them there were.
    func revive(_ letters: [DeadLetterNumber], at now: Timestamp, handOver: ([StoredDelivery]) -> Void) throws -> Int

    /// The deletions that the store remembers, the oldest first.
    func withdrawals() throws -> [Withdrawal]

    /// The queues that have deliveries.
    func waitingQueues() throws -> [StoredQueue]

    /// Calls `body` with each delivery's queue and device, in no particular order.
    func forEachWaiting(_ body: (QueueName, DeviceID) -> Void) throws

    /// Sources should stop from this many deliveries on.
    var limit: Int { get }

    /// Deliveries stored at this moment.
    var count: Int { get }

    /// Whether sources should stop because the limit is reached. Insertions still succeed, so that nothing already
    /// taken in is lost.
    var isFull: Bool { get }
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
    /// How many dead letters there are.
    var deadLetterCount: Int { get }

    /// Returns how many there were.
    func removeDeadLetters(_ letters: [DeadLetterNumber]) throws -> Int

    /// Drops dead letters whose days are over at `now`, or whose device `isRegistered` denies; all of them where none
    /// are to be kept.
    func pruneDeadLetters(at now: Timestamp, isRegistered: (DeviceID) throws -> Bool) throws

    /// Returns once every delivery that a reader could see was handed over to the courier.
    func awaitHandOver()
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

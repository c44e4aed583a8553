import Notifications

/// The durable queue behind the courier: ``Outbox`` on one machine, a stream of a cluster elsewhere.
package protocol DeliveryStore: Sendable {
    /// Stores all of `deliveries` in one transaction, or throws and stores none. When this returns they survive a power cut.
    ///
    /// `causes` are the ids of the events that they are for, and of others that shall wake nobody either: stored with them and
    /// kept beyond their end, so that an event that comes again after a restart is known. There may be causes alone.
    /// `pace` is applied in the same transaction.
    /// `handOver` is called once if there are deliveries, after the commit and before any other insertion begins: what it passes on arrives in the
    /// order of the keys.
    func insert(
        _ deliveries: [Delivery],
        causes: [[UInt8]],
        pace: PaceChanges,
        handOver: ([StoredDelivery]) -> Void
    ) throws

    /// Applies all of `changes` in one transaction, or throws and applies none. When this returns they survive the process;
    /// a power cut may undo those since the last insertion, which means repeats.
    func apply(_ changes: OutboxChanges) throws

    /// Deliveries of `queue` that wait for their first attempt, behind `after`, in order of acceptance.
    func firstTries(of queue: Int, after: OutboxKey, limit: Int) throws -> OutboxPage

    /// Deliveries of `queue` that wait for a further attempt, from `place` on, by due time.
    func retries(of queue: Int, from place: RetryPlace, limit: Int) throws -> OutboxPage

    /// The queues in which something waits.
    func waitingQueues() throws -> [StoredQueue]

    /// Calls `body` with each delivery's queue and device, in no particular order.
    func forEachWaiting(_ body: (QueueName, DeviceID) -> Void) throws

    /// From how many deliveries on sources should stop.
    var limit: Int { get }

    /// Deliveries stored at this moment.
    var count: Int { get }

    /// Whether sources should stop: the limit is reached. Insertions succeed all the same, so that what was already
    /// taken in is not lost.
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

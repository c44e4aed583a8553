import Notifications
import Units

/// A delivery as the outbox stores it. A class, because a delivery is a large value with many strings that queues only
/// pass on.
package final class StoredDelivery: Sendable {
    package let key: OutboxKey
    package let delivery: Delivery
    /// Attempts that have ended so far.
    package let attempts: Int
    /// When the next attempt is due; nil: it waits for its first turn, in order.
    package let due: Timestamp?
    /// How the last attempt failed; nil before the first, and where an earlier version did not note it.
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

        package init(key: OutboxKey, id: DeliveryID, device: Int64) {
            self.key = key
            self.id = id
            self.device = device
        }
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

/// A delivery as the outbox has it. A class because a delivery is a large value with many strings, and queues only pass it on.
package final class StoredDelivery: Sendable {
    package let key: OutboxKey
    package let delivery: Delivery
    /// Attempts that came to an end so far.
    package let attempts: Int
    /// When the next attempt is due, in milliseconds since 1970; nil: it waits for its first turn, in order.
    package let due: Int64?

    package init(key: OutboxKey, delivery: Delivery, attempts: Int = 0, due: Int64? = nil) {
        self.key = key
        self.delivery = delivery
        self.attempts = attempts
        self.due = due
    }

    func rescheduled(attempts: Int, due: Int64) -> StoredDelivery {
        StoredDelivery(key: key, delivery: delivery, attempts: attempts, due: due)
    }
}

/// A queue with deliveries on disk, as found when the outbox was opened.
package struct StoredQueue: Sendable {
    package var number: Int
    package var name: QueueName
    /// The last delivery accepted into it that is still there.
    package var last: OutboxKey

    package init(number: Int, name: QueueName, last: OutboxKey) {
        self.number = number
        self.name = name
        self.last = last
    }
}

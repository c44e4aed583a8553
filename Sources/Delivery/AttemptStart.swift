/// An attempt that begins, for metrics.
package struct AttemptStart: Sendable, Hashable {
    package var queue: QueueName
    /// From 1 on.
    package var attempt: Int
    /// How long ago the delivery was accepted, in milliseconds.
    package var age: Int64

    package init(queue: QueueName, attempt: Int, age: Int64) {
        self.queue = queue
        self.attempt = attempt
        self.age = age
    }
}

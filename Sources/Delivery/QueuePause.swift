/// A queue that attempts nothing for a while, because a human has to look at it.
package struct QueuePause: Sendable, Hashable {
    package var queue: QueueName
    /// When one delivery is attempted to see whether it is mended, in milliseconds since 1970.
    package var until: Int64
    /// The transport's reason, or `no-transport`.
    package var reason: String

    package init(queue: QueueName, until: Int64, reason: String) {
        self.queue = queue
        self.until = until
        self.reason = reason
    }
}

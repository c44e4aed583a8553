/// A queue that attempts nothing for a while.
package struct QueuePause: Sendable, Hashable {
    package enum Cause: Sendable, Hashable, CaseIterable {
        /// Credentials are bad or the plugin is missing: a human has to look at it.
        case misconfigured
        /// The push service asked for it, for everything that goes to it: it ends by itself.
        case asked
    }

    package var queue: QueueName
    /// When attempts are made again, a few at first, in milliseconds since 1970.
    package var until: Int64
    /// The transport's reason, or `no-transport`.
    package var reason: String
    package var cause: Cause

    package init(queue: QueueName, until: Int64, reason: String, cause: Cause = .misconfigured) {
        self.queue = queue
        self.until = until
        self.reason = reason
        self.cause = cause
    }
}

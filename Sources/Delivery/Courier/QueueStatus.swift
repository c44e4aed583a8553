/// How one queue is at a moment: for metrics and the console.
package struct QueueStatus: Sendable, Hashable {
    package var queue: QueueName
    /// Attempts under way.
    package var inFlight: Int
    /// Deliveries in memory, those under way included. More may wait on disk.
    package var inMemory: Int
    /// Of those, the ones that wait for a time to come.
    package var waitingForRetry: Int
    /// Until when the queue is paused, in milliseconds since 1970; nil: it is not.
    package var pausedUntil: Int64?
}

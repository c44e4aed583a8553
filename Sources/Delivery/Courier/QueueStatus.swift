/// How one queue is at a moment: for metrics and the console.
package struct QueueStatus: Sendable, Hashable {
    package var queue: QueueName
    /// Deliveries that have not found their end, in memory or on disk.
    package var waiting: Int
    /// From how many of these on what comes for the queue's devices is gathered.
    package var share: Int
    /// Attempts under way.
    package var inFlight: Int
    /// Deliveries in memory, those under way included. More may wait on disk.
    package var inMemory: Int
    /// Of those, the ones that wait for a time to come.
    package var waitingForRetry: Int
    /// Until when the queue is paused, in milliseconds since 1970; nil: it is not.
    package var pausedUntil: Int64?
    /// Who has to end the pause.
    package var pauseCause: QueuePause.Cause?
    /// The transport's reason for it, one word of a small fixed set.
    package var pauseReason: String?
    /// Hosts that are left in peace for a while, of those that users chose.
    package var pausedHosts = 0

    package init(
        queue: QueueName,
        inFlight: Int,
        inMemory: Int,
        waitingForRetry: Int,
        pausedUntil: Int64? = nil,
        pauseCause: QueuePause.Cause? = nil,
        pauseReason: String? = nil,
        pausedHosts: Int = 0,
        waiting: Int = 0,
        share: Int = 0
    ) {
        self.queue = queue
        self.waiting = waiting
        self.share = share
        self.inFlight = inFlight
        self.inMemory = inMemory
        self.waitingForRetry = waitingForRetry
        self.pausedUntil = pausedUntil
        self.pauseCause = pauseCause
        self.pauseReason = pauseReason
        self.pausedHosts = pausedHosts
    }
}

import Units

/// The state of one queue at a moment, for metrics and the console.
package struct QueueStatus: Sendable, Hashable {
    package var queue: QueueName
    /// Deliveries without a final outcome, in memory or on disk.
    package var waiting: Int
    /// From this many on, later events for the queue's devices are merged.
    package var share: Int
    /// Attempts under way.
    package var inFlight: Int
    /// Deliveries in memory, including those under way. More may wait on disk.
    package var inMemory: Int
    /// Those of them that wait for a due time.
    package var waitingForRetry: Int
    /// The end of the queue's pause; nil: it is not paused.
    package var pausedUntil: Timestamp?
    /// Why it is paused, and so who has to end the pause.
    package var pauseCause: QueuePause.Cause?
    /// The transport's reason, one word of a small fixed set.
    package var pauseReason: String?
    /// How many hosts that users chose are paused.
    package var pausedHosts = 0

    package init(
        queue: QueueName,
        inFlight: Int,
        inMemory: Int,
        waitingForRetry: Int,
        pausedUntil: Timestamp? = nil,
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

extension QueueStatus {
    /// The queues of several couriers, those of one name as one: what they have together, and the longest pause.
    static func together(_ one: [QueueStatus], _ other: [QueueStatus]) -> [QueueStatus] {
        guard !one.isEmpty else { return other }
        var queues = one
        for status in other {
            guard let place = queues.firstIndex(where: { $0.queue == status.queue }) else {
                queues.append(status)
                continue
            }
            queues[place].add(status)
        }
        return queues
    }

    private mutating func add(_ other: QueueStatus) {
        waiting += other.waiting
        share += other.share
        inFlight += other.inFlight
        inMemory += other.inMemory
        waitingForRetry += other.waitingForRetry
        pausedHosts = max(pausedHosts, other.pausedHosts)
        guard let until = other.pausedUntil, pausedUntil.map({ $0 < until }) ?? true else { return }
        (pausedUntil, pauseCause, pauseReason) = (until, other.pauseCause, other.pauseReason)
    }
}

/// A pause of a queue: it attempts nothing for a while.
package struct QueuePause: Sendable, Hashable {
    package enum Cause: Sendable, Hashable, CaseIterable {
        /// Credentials are bad or the plugin is missing: a human has to act.
        case misconfigured
        /// The push service asked for it: it ends by itself.
        case asked
    }

    package var queue: QueueName
    /// When the first few attempts are made again.
    package var until: Timestamp
    /// The transport's reason, or `no-transport`.
    package var reason: String
    package var cause: Cause

    package init(queue: QueueName, until: Timestamp, reason: String, cause: Cause = .misconfigured) {
        self.queue = queue
        self.until = until
        self.reason = reason
        self.cause = cause
    }
}

/// What an operator's drop of waiting deliveries did.
package struct QueueDrop: Sendable, Hashable {
    package var dropped: Int
    /// An attempt is under way, so they stay.
    package var underWay: Int

    package init(dropped: Int, underWay: Int) {
        self.dropped = dropped
        self.underWay = underWay
    }
}

/// What became of deliveries that an operator wants to be tried at once.
package struct QueueHastening: Sendable, Hashable {
    /// They waited for a later time.
    package var hastened: Int
    /// The queues that were paused and are not any more.
    package var unpaused: [QueueName]
}

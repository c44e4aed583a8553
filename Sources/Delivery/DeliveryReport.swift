import Core
import Push

/// A decision about a delivery: an attempt's outcome, or an end without an attempt. Metrics and the trace are made from
/// these.
package struct DeliveryReport: Sendable, Hashable {
    /// Each raw value is one word, fit for a metric label.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Final: the push service accepted it.
        case delivered
        /// Final: the push service reports that the registration is dead. The device is removed.
        case gone
        /// Final: the push service will never accept it.
        case rejected
        /// The attempt failed; another one follows at `nextDue`.
        case retry
        /// It is too large, shows nothing, or its transport does not support its mode. A reduced version is sent
        /// immediately.
        case reduced
        /// The operator's credentials are invalid. The queue is paused, and another attempt follows at `nextDue` or
        /// later.
        case misconfigured
        /// Its turn came, but its host or its endpoint is paused until `nextDue`.
        case postponed
        /// An operator requested another attempt: it had failed permanently, or waited for a later time.
        case requeued
        /// Final: its lifetime or the notification's `expiresAt` ended before it was delivered.
        case expired
        /// Final: the device is no longer registered.
        case unregistered
        /// Final in this queue: the device is now registered on another platform or app. The delivery continues in that
        /// queue under the same id.
        case moved
        /// Final: its row cannot be read; a newer version wrote it, or it is damaged.
        case unreadable
        /// Final: an operator dropped it.
        case discarded
        /// Final: the author deleted the event while the delivery was queued.
        case deleted

        /// Whether the delivery has left the outbox.
        package var isFinal: Bool {
            switch self {
            case .retry, .misconfigured, .reduced, .postponed, .requeued: false
            case .delivered, .gone, .rejected, .expired, .unregistered, .moved, .unreadable, .discarded, .deleted: true
            }
        }
    }

    /// The delivery's id.
    package var delivery: DeliveryID
    package var device: DeviceID
    package var queue: QueueName
    package var kind: Kind
    /// The push service's HTTP status, or 0.
    package var status: UInt32
    /// One word of a small fixed set. Must not contain tokens, keys or content.
    package var reason: String
    /// Attempts made so far, including this one; 0 if it ended without any.
    package var attempt: Int
    /// The earliest time of the next attempt; nil after a final decision.
    package var nextDue: Timestamp?
    /// Whether it failed so often that later deliveries to its device may overtake it from now on. It may still be
    /// delivered.
    package var stopsBlocking: Bool
    /// When the delivery was accepted; nil for an unreadable row.
    package var acceptedAt: Timestamp?
    /// The mode that the push service saw; nil for an unreadable row.
    package var mode: Mode?

    package init(
        delivery: DeliveryID,
        device: DeviceID,
        queue: QueueName,
        kind: Kind,
        status: UInt32 = 0,
        reason: String,
        attempt: Int,
        nextDue: Timestamp? = nil,
        stopsBlocking: Bool = false,
        acceptedAt: Timestamp? = nil,
        mode: Mode? = nil
    ) {
        self.delivery = delivery
        self.device = device
        self.queue = queue
        self.kind = kind
        self.status = status
        self.reason = reason
        self.attempt = attempt
        self.nextDue = nextDue
        self.stopsBlocking = stopsBlocking
        self.acceptedAt = acceptedAt
        self.mode = mode
    }
}

/// The start of an attempt, for metrics.
package struct AttemptStart: Sendable, Hashable {
    /// The delivery's id.
    package var delivery: DeliveryID
    package var queue: QueueName
    /// Counted from 1.
    package var attempt: Int
    /// How long ago the delivery was accepted.
    package var age: Duration

    package init(delivery: DeliveryID, queue: QueueName, attempt: Int, age: Duration) {
        self.delivery = delivery
        self.queue = queue
        self.attempt = attempt
        self.age = age
    }
}

/// Receives every decision about deliveries. Called on the courier's own queues, one call at a time except for
/// ``outboxFailed(_:)`` and ``outboxRecovered()``. Implementations must return soon.
package protocol DeliveryObserver: Sendable {
    /// Decisions, in order.
    func deliveriesReported(_ reports: [DeliveryReport])
    /// A queue was paused because the operator must act (credentials are invalid or the plugin is missing), or because
    /// the push service asked for it. Deliveries wait until then.
    func queuePaused(_ pause: QueuePause)
    /// The queue works again.
    func queueResumed(_ queue: QueueName)
    /// The outbox could not be written or read. No delivery is lost; the courier tries again.
    func outboxFailed(_ error: any Error)
    /// The outbox can be written again after a failure.
    func outboxRecovered()
    /// Attempts were passed to transports.
    func attemptsBegan(_ attempts: [AttemptStart])
    /// These deliveries had their turn, but were postponed (``DeliveryReport/Kind/postponed``) without an attempt.
    func deliveriesPostponed(_ reports: [DeliveryReport])
}

extension DeliveryObserver {
    package func queuePaused(_ pause: QueuePause) {}
    package func queueResumed(_ queue: QueueName) {}
    package func outboxFailed(_ error: any Error) {}
    package func outboxRecovered() {}
    package func attemptsBegan(_ attempts: [AttemptStart]) {}
    package func deliveriesPostponed(_ reports: [DeliveryReport]) {}
}

/// The status of one queue, for metrics and the console.
package struct QueueStatus: Sendable, Hashable {
    package var queue: QueueName
    /// Deliveries without a final outcome, in memory or on disk.
    package var waiting = 0
    /// From this number on, later events for the queue's devices are merged.
    package var share = 0
    /// Attempts in progress.
    package var inFlight: Int
    /// Deliveries in memory, including those in progress. More may be on disk.
    package var inMemory: Int
    /// The number of these that wait for a due time.
    package var waitingForRetry: Int
    /// Nil if the queue is not paused.
    package var pause: QueuePause?
    /// The number of paused hosts that users chose.
    package var pausedHosts = 0

    package init(
        queue: QueueName,
        inFlight: Int = 0,
        inMemory: Int = 0,
        waitingForRetry: Int = 0,
        pause: QueuePause? = nil
    ) {
        self.queue = queue
        self.inFlight = inFlight
        self.inMemory = inMemory
        self.waitingForRetry = waitingForRetry
        self.pause = pause
    }
}

extension QueueStatus {
    /// Merges the queues of two couriers by name: their totals, and the longer pause.
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
        guard let longer = other.pause, pause.map({ $0.until < longer.until }) ?? true else { return }
        pause = longer
    }
}

/// A pause of a queue, which makes no attempts until its end.
package struct QueuePause: Sendable, Hashable {
    package enum Cause: Sendable, Hashable, CaseIterable {
        /// Credentials are invalid or the plugin is missing. The operator must act.
        case misconfigured
        /// The push service asked for it. It ends automatically.
        case asked
    }

    package var queue: QueueName
    /// When the first attempts are made again.
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

/// The result of dropping queued deliveries for an operator.
package struct QueueDrop: Sendable, Hashable {
    package var dropped: Int
    /// The number that stay, because an attempt is in progress.
    package var underWay: Int

    package init(dropped: Int, underWay: Int) {
        self.dropped = dropped
        self.underWay = underWay
    }
}

/// The result of expediting deliveries for an operator.
package struct ExpediteResult: Sendable, Hashable {
    /// The number that waited for a later time.
    package var expedited: Int
    /// The queues whose pause was ended.
    package var unpaused: [QueueName]
}

import Notifications
import Units

/// A decision about a delivery: an attempt's outcome, or an end without an attempt. Metrics and the trace are made of
/// these.
package struct DeliveryReport: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Final: the push service accepted it.
        case delivered
        /// Final: the push service says the registration is dead; the device is forgotten.
        case gone
        /// Final: the push service will never accept it.
        case rejected
        /// The attempt failed; another one follows at `nextDue`.
        case retry
        /// It is too large, shows nothing, or its transport does not support its mode: a reduced version goes out at
        /// once.
        case reduced
        /// Our credentials are bad; the queue is paused, and another attempt follows at `nextDue` or later.
        case misconfigured
        /// Its turn came, but its host or its endpoint is paused until `nextDue`.
        case postponed
        /// An operator had it tried again: it had failed for good, or waited for a later time.
        case requeued
        /// Final: its lifetime or the notification's `expiresAt` ended before it was delivered.
        case expired
        /// Final: the device is no longer registered.
        case unregistered
        /// Final in this queue: the device is registered on another platform or app by now, and the delivery continues
        /// in that queue under the same id.
        case moved
        /// Final: its row cannot be read; a newer version wrote it, or it is damaged.
        case unreadable
        /// Final: an operator dropped it.
        case discarded
        /// Final: its author deleted the event while it waited.
        case deleted

        /// Whether the delivery has left the outbox.
        package var isFinal: Bool {
            switch self {
            case .retry, .misconfigured, .reduced, .postponed, .requeued: false
            case .delivered, .gone, .rejected, .expired, .unregistered, .moved, .unreadable, .discarded, .deleted: true
            }
        }

        /// One word, fit for a metric's label.
        package var name: String { rawValue }
    }

    /// The delivery's id.
    package var delivery: DeliveryID
    package var device: DeviceID
    package var queue: QueueName
    package var kind: Kind
    /// The push service's HTTP status, or 0.
    package var status: UInt32
    /// One word of a small fixed set; never a token, key or content.
    package var reason: String
    /// Attempts made so far, including this one; 0: it ended without any.
    package var attempt: Int
    /// The earliest time of the next attempt; nil after a final decision.
    package var nextDue: Timestamp?
    /// Whether it failed so often that later deliveries for its device may pass it from now on. It may still be
    /// delivered.
    package var standsAside: Bool
    /// When the delivery was accepted; nil for an unreadable row.
    package var acceptedAt: Timestamp?
    /// What the push service could see of it; nil for an unreadable row.
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
        standsAside: Bool = false,
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
        self.standsAside = standsAside
        self.acceptedAt = acceptedAt
        self.mode = mode
    }
}

/// The beginning of an attempt, for metrics.
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
/// ``outboxFailed(_:)`` and ``outboxRecovered()``: pass it on and return soon.
package protocol DeliveryObserver: Sendable {
    /// Decisions, in order.
    func deliveriesReported(_ reports: [DeliveryReport])
    /// A queue paused because a human has to act (credentials are bad or the plugin is missing), or because the push
    /// service asked for it. Deliveries wait meanwhile.
    func queuePaused(_ pause: QueuePause)
    /// The queue works again.
    func queueResumed(_ queue: QueueName)
    /// The outbox could not be written or read. Nothing is lost; the courier tries again.
    func outboxFailed(_ error: any Error)
    /// The outbox can be written again after a failure.
    func outboxRecovered()
    /// Attempts were handed to transports.
    func attemptsBegan(_ attempts: [AttemptStart])
    /// The turn of these deliveries came, but they were postponed (``DeliveryReport/Kind/postponed``) without an
    /// attempt.
    func deliveriesPostponed(_ reports: [DeliveryReport])
}

extension DeliveryObserver {
    package func outboxRecovered() {}
    package func attemptsBegan(_ attempts: [AttemptStart]) {}
    package func deliveriesPostponed(_ reports: [DeliveryReport]) {}
}

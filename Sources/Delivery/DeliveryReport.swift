import Notifications

/// What was decided about a delivery: an attempt's outcome, or its end without one. Metrics and the trace are made of these.
package struct DeliveryReport: Sendable, Hashable {
    package enum Kind: Sendable, Hashable, CaseIterable {
        /// Final: the push service accepted it.
        case delivered
        /// Final: the push service says the registration is dead; the device is forgotten.
        case gone
        /// Final: the push service will never accept it.
        case rejected
        /// The attempt failed; another one follows at `nextDue`.
        case retry
        /// It does not fit, shows nothing, or its transport does not do its mode: it goes out again at once, saying less.
        case reduced
        /// Our credentials are bad; the queue is paused and another attempt follows, not before `nextDue`.
        case misconfigured
        /// Its turn came and it was not attempted: its host or its endpoint is left in peace until `nextDue`.
        case postponed
        /// Final: it was still undelivered when its lifetime or the notification's `expiresAt` came.
        case expired
        /// Final: the device is registered no more.
        case unregistered
        /// Final in this queue: the device is registered on another platform or app by now, and the delivery goes on in
        /// that one's queue under its own id.
        case moved
        /// Final: what the outbox holds cannot be read; written by a newer version, or damaged.
        case unreadable

        /// Whether the delivery left the outbox with this.
        package var isFinal: Bool {
            switch self {
            case .retry, .misconfigured, .reduced, .postponed: false
            case .delivered, .gone, .rejected, .expired, .unregistered, .moved, .unreadable: true
            }
        }

        /// One word, fit for a metric's label.
        package var name: String { "\(self)" }
    }

    /// The delivery's id.
    package var delivery: String
    package var device: DeviceID
    package var queue: QueueName
    package var kind: Kind
    /// The push service's HTTP status, or 0.
    package var status: UInt32
    /// One word of a small fixed set; never a token, key or content.
    package var reason: String
    /// Attempts made so far, this one included; 0: it ended without any.
    package var attempt: Int
    /// When the next attempt is due at the earliest, in milliseconds since 1970; nil after a final one.
    package var nextDue: Int64?
    /// Whether it failed so often that it lets what else there is for its device pass from now on. It may be delivered all the same.
    package var standsAside: Bool
    /// When the delivery was accepted, in milliseconds since 1970; nil where what the outbox holds cannot be read.
    package var acceptedAt: Int64?

    package init(
        delivery: String,
        device: DeviceID,
        queue: QueueName,
        kind: Kind,
        status: UInt32 = 0,
        reason: String,
        attempt: Int,
        nextDue: Int64? = nil,
        standsAside: Bool = false,
        acceptedAt: Int64? = nil
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
    }
}

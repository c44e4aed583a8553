import Notifications
import Units

/// What happens to a courier's queues.
enum CourierEvent: Sendable {
    /// Deliveries that are on disk now, in the order of their keys.
    case accepted([StoredDelivery])
    /// Deliveries that are on disk now and are not handed over, because memory has enough of them.
    case left(StoredQueue)
    /// An attempt ended.
    case ended(Attempt, Outcome)
    /// A page that was asked for.
    case page(OutboxRead, OutboxPage)
    /// Time has passed.
    case wake
    /// Somebody repaired something: paused queues probe now.
    case lift
    /// Whether the disk accepts changes. While it does not, no attempt begins: a crash would repeat it.
    case disk(isWritable: Bool)
    /// Begin no more attempts.
    case drain
}

/// What the courier has to do, in the order of the fields.
struct CourierActions: Sendable {
    var changes = OutboxChanges()
    var discards: [OutboxWriter.Discard] = []
    var reads: [OutboxRead] = []
    var reports: [DeliveryReport] = []
    /// Reports of postponed deliveries, which are neither attempts nor ends.
    var postponed: [DeliveryReport] = []
    var pauses: [QueuePause] = []
    var resumed: [QueueName] = []
    /// Attempts to begin: find each device's address, and answer with ``CourierQueues/resolved(_:_:now:into:)``.
    var lookups: [Attempt] = []
    /// When to call again if nothing else happens.
    var wakeAt: Timestamp?

    /// For so many deliveries memory is asked for at once.
    private static let mostExpected = 1_024

    /// So many deliveries may end.
    mutating func expect(_ ends: Int) {
        guard ends > 1 else { return }
        changes.removals.reserveCapacity(min(ends, Self.mostExpected))
        reports.reserveCapacity(min(ends, Self.mostExpected))
    }
}

/// One attempt at one delivery.
struct Attempt: Sendable {
    /// The queue's index among the courier's queues.
    let queue: Int
    /// The device's index in that queue.
    let device: Int
    let stored: StoredDelivery
}

/// The result of looking up the address of a delivery's device.
enum Resolution: Sendable, Equatable {
    /// It has one; `host` where attempts per host are counted.
    case found(host: String?)
    /// The device is no longer registered.
    case unregistered
    /// It is on another platform or app by now, and the delivery was put into that queue.
    case moved
    /// The directory could not be read.
    case unavailable
    /// It has one, but no transport serves this queue.
    case noTransport
}

/// A page that a queue wants from disk.
struct OutboxRead: Sendable, Equatable {
    enum Part: Sendable, Equatable {
        case firstTries(after: OutboxKey)
        case retries(from: RetryPlace)
    }

    /// The queue's index among the courier's queues.
    let queue: Int
    /// The queue's number in the outbox.
    let number: Int
    let part: Part
    let limit: Int
}

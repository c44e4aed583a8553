import Notifications
import Units

/// A delivery as operators see it: where it is, and how it went. Neither content nor the device's address.
package struct QueueEntry: Sendable, Hashable {
    package enum Place: Sendable, Hashable {
        /// In the outbox, without a final outcome.
        case waiting(OutboxKey)
        /// Among the dead letters.
        case failed(DeadLetterNumber, at: Timestamp)
    }

    package var place: Place
    /// The delivery's id; unknown where it cannot be read.
    package var id: DeliveryID
    package var device: DeviceID
    package var queue: QueueName
    package var acceptedAt: Timestamp
    /// Attempts that have ended.
    package var attempts: Int
    /// When the next attempt is due; nil: it waits for its first one, or failed.
    package var due: Timestamp?
    /// How the last attempt failed.
    package var failure: DeliveryFailure?
    /// Nil where the notification cannot be read.
    package var mode: Mode?
    /// The notification's own end; nil: it has none, or cannot be read.
    package var expiresAt: Timestamp?
    /// How much the outbox holds of it.
    package var size: ByteCount

    /// Its place in the outbox; nil for a dead letter.
    package var key: OutboxKey? { if case .waiting(let key) = place { key } else { nil } }

    /// Its number among the dead letters; nil for one that waits.
    package var letter: DeadLetterNumber? { if case .failed(let number, _) = place { number } else { nil } }

    /// When it failed for good.
    package var failedAt: Timestamp? { if case .failed(_, let time) = place { time } else { nil } }

    /// What an operator decided about it.
    package func report(_ kind: DeliveryReport.Kind, nextDue: Timestamp? = nil) -> DeliveryReport {
        DeliveryReport(
            delivery: id,
            device: device,
            queue: queue,
            kind: kind,
            reason: "operator",
            attempt: attempts,
            nextDue: nextDue,
            mode: mode
        )
    }
}

/// Which deliveries an operator means: all that fit everything that is set.
package struct QueueSelection: Sendable, Hashable {
    package var isWaitingWanted = true
    package var isFailedWanted = true
    /// The deliveries' ids as an operator wrote them; empty: any.
    package var ids: [String] = []
    package var platform: String?
    package var app: String?
    package var device: DeviceID?
    /// A push service's or a plugin's word, or how it failed (``DeliveryFailure/Kind``).
    package var reason: String?
    /// From when on it failed, or was accepted where it waits.
    package var since: Timestamp?
    package var until: Timestamp?

    package init() {}
}

/// A place between two deliveries of a selection. Dead letters come first, each in their own order.
package struct QueueCursor: Sendable, Hashable, Comparable, LosslessStringConvertible {
    let isAmongWaiting: Bool
    let number: Int64

    /// Before all.
    package static let start = QueueCursor(isAmongWaiting: false, number: 0)

    /// Behind `entry`.
    package init(after entry: QueueEntry) {
        switch entry.place {
        case .failed(let letter, _): self.init(isAmongWaiting: false, number: letter.rawValue)
        case .waiting(let key): self.init(isAmongWaiting: true, number: key.rawValue)
        }
    }

    init(isAmongWaiting: Bool, number: Int64) {
        self.isAmongWaiting = isAmongWaiting
        self.number = number
    }

    package init?(_ description: String) {
        guard let first = description.first, first == "f" || first == "w", let number = Int64(description.dropFirst()),
            number >= 0
        else { return nil }
        self.init(isAmongWaiting: first == "w", number: number)
    }

    package var description: String { (isAmongWaiting ? "w" : "f") + String(number) }

    package static func < (left: QueueCursor, right: QueueCursor) -> Bool {
        (left.isAmongWaiting ? 1 : 0, left.number) < (right.isAmongWaiting ? 1 : 0, right.number)
    }
}

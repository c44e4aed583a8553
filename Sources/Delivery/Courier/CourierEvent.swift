import Notifications

/// What happens to a courier's queues.
enum CourierEvent: Sendable {
    /// Deliveries that are on disk now, in the order of their keys.
    case accepted([StoredDelivery])
    /// Deliveries that are on disk now and are not handed over, because memory has enough of them.
    case left(StoredQueue)
    /// An attempt ended.
    case ended(Ticket, Outcome)
    /// A page that was asked for.
    case page(OutboxRead, OutboxPage)
    /// Time has passed.
    case wake
    /// Something was mended by hand: paused queues probe now.
    case lift
    /// Whether the disk takes what is decided. While it does not, nothing further is attempted: a crash would repeat it.
    case disk(isWritable: Bool)
    /// Begin no more attempts.
    case drain
}

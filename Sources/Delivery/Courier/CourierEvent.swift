import Notifications

/// What happens to a courier's queues.
enum CourierEvent: Sendable {
    /// Deliveries that are on disk now, in the order of their keys.
    case accepted([StoredDelivery])
    /// Deliveries that are on disk now and are not handed over, because memory has enough of them.
    case left(StoredQueue)
    /// An attempt ended. `registeredAt` is the one of the address that was tried.
    case ended(Ticket, registeredAt: Int64, Outcome)
    /// A page that was asked for.
    case page(OutboxRead, OutboxPage)
    /// Time has passed.
    case wake
    /// Something was mended by hand: paused queues probe now.
    case lift
    /// Begin no more attempts.
    case drain
}

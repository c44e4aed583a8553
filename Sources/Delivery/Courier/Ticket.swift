/// One attempt at one delivery.
struct Ticket: Sendable {
    /// The queue's index among the courier's queues.
    let queue: Int
    /// The device's lane in that queue.
    let lane: Int
    let stored: StoredDelivery
}

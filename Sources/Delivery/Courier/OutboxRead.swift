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

/// What shall become of deliveries in the outbox, gathered for one transaction.
package struct OutboxChanges: Sendable, Equatable {
    /// A delivery that waits for a further attempt.
    package struct Rescheduling: Sendable, Equatable {
        package var key: OutboxKey
        /// Milliseconds since 1970.
        package var due: Int64
        /// Attempts that came to an end so far.
        package var attempts: Int
    }

    /// Deliveries that found their end.
    package var removals: [OutboxKey] = []
    /// Applied before the removals, in this order.
    package var reschedulings: [Rescheduling] = []

    /// What removals mean for their devices' paces.
    package var ends: [PushEnd] = []

    package init() {}

    package var isEmpty: Bool { removals.isEmpty && reschedulings.isEmpty && ends.isEmpty }

    mutating func append(_ later: OutboxChanges) {
        if isEmpty {
            self = later
        } else {
            removals += later.removals
            reschedulings += later.reschedulings
            ends += later.ends
        }
    }
}

/// How an event came in, for the shell to hand over and to give back when it is settled.
struct Arrival: Hashable, Sendable {
    let reading: Reading
    /// The catch-up it belongs to; nil for events of live subscriptions and of fetches.
    let sweep: UInt32?
}

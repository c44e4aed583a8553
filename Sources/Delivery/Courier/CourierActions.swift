/// What the courier's shell has to do, in the order of the fields.
struct CourierActions: Sendable {
    var changes = OutboxChanges()
    var reads: [OutboxRead] = []
    var reports: [DeliveryReport] = []
    /// Of deliveries that were put off, which is neither an attempt nor an end.
    var postponed: [DeliveryReport] = []
    var pauses: [QueuePause] = []
    var resumed: [QueueName] = []
    /// Attempts to begin: find each device's address, and answer with ``CourierQueues/resolved(_:_:now:into:)``.
    var lookups: [Ticket] = []
    /// When to call again if nothing else happens, in milliseconds since 1970.
    var wakeAt: Int64?
}

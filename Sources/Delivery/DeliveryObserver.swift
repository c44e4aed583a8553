/// Learns of every decision about deliveries. Called on queues of the courier's own, one call at a time for all but
/// ``outboxFailed(_:)`` and ``outboxRecovered()``: hand on, and return soon.
package protocol DeliveryObserver: Sendable {
    /// What was decided, in order.
    func deliveriesReported(_ reports: [DeliveryReport])
    /// Credentials are bad or the plugin is missing and a human has to act, or the push service asked for a pause. Deliveries
    /// wait meanwhile.
    func queuePaused(_ pause: QueuePause)
    /// The queue works again.
    func queueResumed(_ queue: QueueName)
    /// The outbox could not be written or read. Nothing is lost; the courier tries again.
    func outboxFailed(_ error: any Error)
    /// What failed before can be written again.
    func outboxRecovered()
    /// Attempts were handed to transports.
    func attemptsBegan(_ attempts: [AttemptStart])
    /// The turn of these deliveries came, and they were put off (``DeliveryReport/Kind/postponed``): no attempt was
    /// made.
    func deliveriesPostponed(_ reports: [DeliveryReport])
}

extension DeliveryObserver {
    package func outboxRecovered() {}
    package func attemptsBegan(_ attempts: [AttemptStart]) {}
    package func deliveriesPostponed(_ reports: [DeliveryReport]) {}
}

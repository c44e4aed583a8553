import Notifications
import Units

/// What other threads say to a courier's own queue.
enum CourierMessage: Sendable {
    case event(CourierEvent)
    /// A push service says that a device is gone. `registeredAt` and `isProven` belong to the address that was tried.
    case gone(Attempt, registeredAt: Timestamp, isProven: Bool, Outcome)
    /// A push service accepted the token of a device for the first time.
    case proven(Attempt, Outcome)
    /// Drop deliveries that wait.
    case drop([QueueEntry], @Sendable (QueueDrop) -> Void)
    /// Make deliveries due that wait for a later time, and end the pauses of queues.
    case hasten([QueueEntry], unpausing: Set<QueueName>, @Sendable (QueueHastening) -> Void)
    /// What was decided elsewhere, and what to call when it is reported.
    case decided([DeliveryReport], @Sendable () -> Void)
    /// To be called when no attempt is under way any more and all outcomes are on disk.
    case drain(@Sendable () -> Void)
    /// To be called when everything posted before has been handled.
    case probe(@Sendable () -> Void)

    /// Whether the registry learns something from it. Few do.
    var concernsRegistry: Bool {
        switch self {
        case .gone, .proven: true
        case .event, .drain, .probe, .drop, .hasten, .decided: false
        }
    }
}

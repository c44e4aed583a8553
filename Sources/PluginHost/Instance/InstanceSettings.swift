import HTTPLanes
import Logging
import Units

/// What the host gives to the instances that it makes.
package struct InstanceSettings: Sendable {
    /// Carries what plugins send: real lanes, or ``RecordingHTTP`` for a dry run.
    package var sender: any HTTPSender
    package var log: Logger
    /// How long a plugin may take for a delivery.
    package var deliveryTimeout: Duration
    /// A clock that does not step: deadlines go by it.
    package var now: @Sendable () -> Deadline

    package init(
        sender: any HTTPSender,
        log: Logger,
        deliveryTimeout: Duration = .minutes(1),
        now: @escaping @Sendable () -> Deadline = Deadline.now
    ) {
        self.sender = sender
        self.log = log
        self.deliveryTimeout = deliveryTimeout
        self.now = now
    }
}

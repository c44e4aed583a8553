import HTTPLanes
import Logging
import Streams
import Units

/// What the host gives to the instances that it makes.
package struct InstanceSettings: Sendable {
    /// Carries what plugins send: real lanes, or ``RecordingHTTP`` for a dry run.
    package var sender: any HTTPSender
    /// Makes what plugins open: real connections, or ``NoStreams`` for a dry run.
    package var streams: any StreamConnector
    package var log: Logger
    /// How long a plugin may take for a delivery.
    package var deliveryTimeout: Duration
    /// A clock that does not step: deadlines go by it.
    package var now: @Sendable () -> Deadline
    /// Calls the timers of instances that run in this process.
    package var timers: PluginTimers
    /// What instances keep.
    package var states: PluginStates
    /// The URL under which the instance of a platform and an app is reached from outside; nil: nothing reaches it.
    package var inboundURL: @Sendable (_ platform: String, _ app: String) -> String?

    /// Without `states` what plugins keep is forgotten with their instances.
    package init(
        sender: any HTTPSender,
        streams: any StreamConnector = NoStreams(),
        log: Logger,
        deliveryTimeout: Duration = .minutes(1),
        now: @escaping @Sendable () -> Deadline = Deadline.now,
        timers: PluginTimers? = nil,
        states: PluginStates = PluginStates(),
        inboundURL: @escaping @Sendable (_ platform: String, _ app: String) -> String? = { _, _ in nil }
    ) {
        self.sender = sender
        self.streams = streams
        self.log = log
        self.deliveryTimeout = deliveryTimeout
        self.now = now
        self.timers = timers ?? PluginTimers(now: now)
        self.states = states
        self.inboundURL = inboundURL
    }
}

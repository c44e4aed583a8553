import HTTPLanes
import Logging

#if canImport(Glibc)
import Glibc
#endif

/// What the host gives to the instances that it makes.
package struct InstanceSettings: Sendable {
    /// Carries what plugins send: real lanes, or ``RecordingHTTP`` for a dry run.
    package var sender: any HTTPSender
    package var log: Logger
    /// How long a plugin may take for a delivery, in milliseconds.
    package var deliveryTimeout: Int64
    /// Milliseconds of any clock that does not step: deadlines go by it.
    package var now: @Sendable () -> Int64

    package init(
        sender: any HTTPSender,
        log: Logger,
        deliveryTimeout: Int64 = 60_000,
        now: @escaping @Sendable () -> Int64 = InstanceSettings.monotonicMilliseconds
    ) {
        self.sender = sender
        self.log = log
        self.deliveryTimeout = deliveryTimeout
        self.now = now
    }

    /// The machine's uptime.
    @Sendable package static func monotonicMilliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

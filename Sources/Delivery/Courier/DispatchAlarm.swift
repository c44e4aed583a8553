import Dispatch

/// An ``Alarm`` on the system's own timers.
package struct DispatchAlarm: Alarm {
    private let now: @Sendable () -> Int64
    // So that a clock that is set while something waits is noticed within a minute.
    private static let longestSleep: Int64 = 60_000

    /// `now` gives milliseconds since 1970.
    package init(now: @escaping @Sendable () -> Int64) {
        self.now = now
    }

    package func ring(at time: Int64, _ action: @escaping @Sendable () -> Void) {
        let wait = min(max(0, time.subtractingReportingOverflow(now()).partialValue), Self.longestSleep)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(wait)), execute: action)
    }
}

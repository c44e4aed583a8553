import Delivery
import Dispatch

/// A clock that goes `speed` times as fast as ours, from the present time on, and never back.
package struct FastClock: Sendable {
    private let speed: Int64
    private let start: Int64
    private let startedAt = ContinuousClock.now

    /// `start` in milliseconds since 1970.
    package init(speed: Int64, start: Int64) {
        self.speed = speed
        self.start = start
    }

    /// Milliseconds since 1970.
    package var now: Int64 {
        let passed = (ContinuousClock.now - startedAt).components
        return start + passed.seconds * 1_000 * speed + passed.attoseconds / 1_000_000_000_000 * speed / 1_000
    }
}

/// Rings by a fast clock.
struct FastAlarm: Alarm {
    let clock: FastClock
    let speed: Int64

    func ring(at time: Int64, _ action: @escaping @Sendable () -> Void) {
        let wait = max(0, time - clock.now) / speed + 1
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(min(wait, 60_000))), execute: action)
    }
}

import Synchronization
import TimeTestSupport
import Units

/// A clock that stands still, and what is to be done when it will have moved on.
final class ManualTime: Sendable {
    private let clock: ManualClock
    private let due = Mutex<[(time: Timestamp, action: @Sendable () -> Void)]>([])

    init(_ now: Timestamp) {
        clock = ManualClock(now)
    }

    var now: Timestamp { clock.time }

    func schedule(_ span: Duration, _ action: @escaping @Sendable () -> Void) {
        due.withLock { $0.append((now + span, action)) }
    }

    /// Lets time pass, and does what falls due, in its order.
    func pass(_ span: Duration) {
        let end = now + span
        while let action = next(until: end) { action() }
        clock.time = end
    }

    private func next(until end: Timestamp) -> (@Sendable () -> Void)? {
        due.withLock { due in
            guard let first = due.indices.min(by: { due[$0].time < due[$1].time }), due[first].time <= end else {
                return nil
            }
            let next = due.remove(at: first)
            clock.time = max(clock.time, next.time)
            return next.action
        }
    }
}

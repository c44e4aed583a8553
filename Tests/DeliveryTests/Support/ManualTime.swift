import Core
import Delivery
import Synchronization
import TimeTestSupport

/// A manual clock, and the alarms set on it.
final class ManualTime: Alarm {
    private struct State {
        var now: Timestamp
        var alarms: [(time: Timestamp, action: @Sendable () -> Void)] = []
    }

    private let state: Mutex<State>

    init(now: Timestamp = 1_700_000_000_000) {
        state = Mutex(State(now: now))
    }

    var now: Timestamp { state.withLock { $0.now } }

    func hasAlarm(at time: Timestamp) -> Bool { state.withLock { state in state.alarms.contains { $0.time == time } } }

    func ring(at time: Timestamp, _ action: @escaping @Sendable () -> Void) {
        let rings = state.withLock { state in
            if time <= state.now { return true }
            state.alarms.append((time, action))
            return false
        }
        if rings { action() }
    }

    /// Sets the clock back, and lets all alarms ring early.
    func setBack(by milliseconds: Duration) {
        let alarms = state.withLock { state in
            state.now -= milliseconds
            defer { state.alarms = [] }
            return state.alarms
        }
        for alarm in alarms { alarm.action() }
    }

    func advance(by milliseconds: Duration) {
        let actions = state.withLock { state in
            state.now += milliseconds
            let due = state.alarms.filter { $0.time <= state.now }.sorted { $0.time < $1.time }
            state.alarms.removeAll { $0.time <= state.now }
            return due.map(\.action)
        }
        for action in actions { action() }
    }
}

/// Always returns the largest number: every backoff has its maximum length.
struct LargestGenerator: RandomNumberGenerator, Sendable {
    mutating func next() -> UInt64 { .max }
}

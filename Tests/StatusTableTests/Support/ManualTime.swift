import Core
import Delivery
import Synchronization

/// A manual clock, and the alarms set on it.
final class ManualTime: Alarm {
    private struct State {
        var now: Timestamp
        var alarms: [(time: Timestamp, action: @Sendable () -> Void)] = []
    }

    private let state: Mutex<State>

    init(now: Timestamp) {
        state = Mutex(State(now: now))
    }

    var now: Timestamp { state.withLock { $0.now } }

    func ring(at time: Timestamp, _ action: @escaping @Sendable () -> Void) {
        let rings = state.withLock { state in
            if time <= state.now { return true }
            state.alarms.append((time, action))
            return false
        }
        if rings { action() }
    }

    func advance(by milliseconds: Duration) {
        advance(to: now + milliseconds)
    }

    /// Advances to the next alarm and rings it. False if none is set.
    func advanceToNextAlarm() -> Bool {
        guard let next = state.withLock({ $0.alarms.map(\.time).min() }) else { return false }
        advance(to: next)
        return true
    }

    private func advance(to time: Timestamp) {
        let actions = state.withLock { state in
            state.now = max(state.now, time)
            let now = state.now
            let due = state.alarms.filter { $0.time <= now }.sorted { $0.time < $1.time }
            state.alarms.removeAll { $0.time <= now }
            return due.map(\.action)
        }
        for action in actions { action() }
    }
}

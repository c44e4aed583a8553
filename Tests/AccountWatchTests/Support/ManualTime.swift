import Synchronization

/// A clock that stands still, and what is to be done when it will have moved on.
final class ManualTime: Sendable {
    private struct State {
        var now: Int64
        var due: [(time: Int64, action: @Sendable () -> Void)] = []
    }

    private let state: Mutex<State>

    /// In milliseconds since 1970.
    init(_ now: Int64) {
        state = Mutex(State(now: now))
    }

    var now: Int64 { state.withLock { $0.now } }

    func schedule(_ milliseconds: Int64, _ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.due.append(($0.now + milliseconds, action)) }
    }

    /// Lets time pass, and does what falls due, in its order.
    func pass(_ milliseconds: Int64) {
        let end = now + milliseconds
        while let action = next(until: end) { action() }
        state.withLock { $0.now = end }
    }

    private func next(until end: Int64) -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard let first = state.due.indices.min(by: { state.due[$0].time < state.due[$1].time }),
                state.due[first].time <= end
            else { return nil }
            let due = state.due.remove(at: first)
            state.now = max(state.now, due.time)
            return due.action
        }
    }
}

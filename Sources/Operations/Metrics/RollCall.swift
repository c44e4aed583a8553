import Dispatch
import Synchronization
import Units

/// Asks several at once whether they are there, and learns who did not answer in time.
final class RollCall: Sendable {
    private struct State {
        var missing: Set<String>
        /// The time may be over before anybody waits.
        var isOver = false
        var waiter: CheckedContinuation<[String], Never>?
    }

    private let state: Mutex<State>

    private init(_ names: [String]) {
        state = Mutex(State(missing: Set(names)))
    }

    /// Those asked who do not answer within `patience`, sorted. Each is asked by a call, and answers by calling what it
    /// is given, on any thread. `after` calls once the time is over.
    static func missing(
        _ asked: [(name: String, ask: (@escaping @Sendable () -> Void) -> Void)],
        within patience: Duration,
        after: (_ patience: Duration, @escaping @Sendable () -> Void) -> Void = { patience, end in
            DispatchQueue.global().asyncAfter(
                deadline: .now() + .milliseconds(Int(clamping: patience.milliseconds)),
                execute: end
            )
        }
    ) async -> [String] {
        let call = RollCall(asked.map(\.name))
        for (name, ask) in asked { ask { call.isHere(name) } }
        after(patience) { call.end() }
        return await withCheckedContinuation { continuation in
            let missing = call.state.withLock { state -> [String]? in
                if state.isOver || state.missing.isEmpty { return state.missing.sorted() }
                state.waiter = continuation
                return nil
            }
            if let missing { continuation.resume(returning: missing) }
        }
    }

    private func isHere(_ name: String) {
        finish { state in
            state.missing.remove(name)
            return state.missing.isEmpty
        }
    }

    private func end() {
        finish { state in
            state.isOver = true
            return true
        }
    }

    private func finish(_ change: (inout State) -> Bool) {
        let (waiter, missing) = state.withLock { state -> (CheckedContinuation<[String], Never>?, [String]) in
            guard change(&state) else { return (nil, []) }
            defer { state.waiter = nil }
            return (state.waiter, state.missing.sorted())
        }
        waiter?.resume(returning: missing)
    }
}

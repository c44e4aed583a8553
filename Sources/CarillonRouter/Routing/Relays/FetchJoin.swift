import Synchronization

/// Waits for several fetches, and says once that all have ended.
final class FetchJoin: Sendable {
    private let state: Mutex<(open: Int, isAnswered: Bool)>
    private let completion: @Sendable (_ isAnswered: Bool) -> Void

    /// Of none, all have ended at once, and answered.
    init(_ count: Int, completion: @escaping @Sendable (_ isAnswered: Bool) -> Void) {
        state = Mutex((count, count == 0))
        self.completion = completion
        if count == 0 { completion(true) }
    }

    func end(isAnswered: Bool) {
        let result = state.withLock { state -> Bool? in
            state.open -= 1
            state.isAnswered = state.isAnswered || isAnswered
            return state.open == 0 ? state.isAnswered : nil
        }
        if let result { completion(result) }
    }
}

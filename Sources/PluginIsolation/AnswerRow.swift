import Synchronization
import Units
import WakeUps

/// The answers to questions that were asked together, for the thread that waits for them.
final class AnswerRow: Sendable {
    private struct State {
        var answers: [Answer?]
        var count = 0
    }

    private let state: Mutex<State>
    private let semaphore = MonotonicSemaphore()

    /// A row for `count` answers.
    init(_ count: Int) { state = Mutex(State(answers: Array(repeating: nil, count: count))) }

    /// The first answer to a question counts.
    func give(_ answer: Answer, to index: Int) {
        let isLast = state.withLock { state in
            if state.answers[index] != nil { return false }
            state.answers[index] = answer
            state.count += 1
            return state.count == state.answers.count
        }
        if isLast { semaphore.signal() }
    }

    /// Waits until all answers are there, or none has come for as long as `span`. Nil: it did not come.
    func take(within span: Duration) -> [Answer?] {
        var seen = 0
        while !semaphore.wait(until: .now() + span) {
            let count = state.withLock(\.count)
            guard count > seen else { break }
            seen = count
        }
        return state.withLock(\.answers)
    }
}

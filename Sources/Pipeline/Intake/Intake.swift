import Dispatch
import Synchronization

/// The queue between sources and the pipeline's thread. Bounded: beyond its limit a submission is refused at once, with an
/// answer that says so, instead of being kept in memory.
package final class Intake: Sendable {
    private struct State {
        var waiting: [Submission] = []
        var events = 0
        var isClosed = false
        var ownerSleeps = false
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let limit: Int

    /// `limit` is how many events may wait.
    package init(limit: Int = 100_000) {
        self.limit = limit
    }

    /// Hands `submission` over to the pipeline. Any thread; never blocks.
    package func submit(_ submission: Submission) {
        let (admitted, mustWake) = state.withLock { state -> (Bool, Bool) in
            guard !state.isClosed, state.events < limit else { return (false, false) }
            state.waiting.append(submission)
            state.events += submission.events.count
            defer { state.ownerSleeps = false }
            return (true, state.ownerSleeps)
        }
        if mustWake { wake.signal() }
        if !admitted {
            let refusal = EventVerdict(id: nil, .refused("error: too busy, try again later"))
            submission.completion(submission.events.map { _ in refusal })
        }
    }

    /// Everything that waits; blocks until there is something. Nil once closed and empty. For the pipeline's thread alone.
    func next() -> [Submission]? {
        while true {
            let (batch, isClosed) = state.withLock { state -> ([Submission], Bool) in
                defer {
                    state.waiting = []
                    state.events = 0
                }
                state.ownerSleeps = state.waiting.isEmpty && !state.isClosed
                return (state.waiting, state.isClosed)
            }
            if !batch.isEmpty { return batch }
            if isClosed { return nil }
            wake.wait()
        }
    }

    /// Lets what waits be processed and takes nothing more.
    package func close() {
        let mustWake = state.withLock { state in
            state.isClosed = true
            defer { state.ownerSleeps = false }
            return state.ownerSleeps
        }
        if mustWake { wake.signal() }
    }
}

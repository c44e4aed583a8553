import Dispatch
import Nostr
import Synchronization

/// The queue between sources and the pipeline's thread. Bounded: beyond its limit a submission is refused at once, with an
/// answer that says so, instead of being kept in memory.
package final class Intake: Sendable {
    private struct State {
        var arrivals = Arrivals()
        var events = 0
        var bytes = 0
        var isClosed = false
        var ownerSleeps = false

        /// Whether the owner has to be woken, which is then seen to.
        mutating func mustWake() -> Bool {
            defer { ownerSleeps = false }
            return ownerSleeps
        }
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let limit: Int
    private let byteLimit: Int

    /// `limit` is how many events may wait, `byteLimit` from how many bytes of them on no more are taken.
    package init(limit: Int = 100_000, byteLimit: Int = 128 << 20) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// Hands `submission` over to the pipeline. Any thread; never blocks.
    package func submit(_ submission: Submission) {
        let bytes = submission.events.reduce(0) { $0 + $1.count }
        let (refusal, mustWake) = state.withLock { state -> (String?, Bool) in
            if state.isClosed { return ("error: shutting down, try again later", false) }
            if state.events >= limit || state.bytes >= byteLimit { return ("error: too busy, try again later", false) }
            state.arrivals.submissions.append(submission)
            state.events += submission.events.count
            state.bytes += bytes
            return (nil, state.mustWake())
        }
        if mustWake { wake.signal() }
        if let refusal { Self.refuse(submission, refusal) }
    }

    /// Without its id a sender could not tell which event was refused.
    private static func refuse(_ submission: Submission, _ message: String) {
        var scanner = EventScanner()
        submission.completion(
            submission.events.map { json in
                let id = try? json.withUnsafeBytes { try scanner.scan($0).id }
                return EventVerdict(id: id, .refused(message))
            }
        )
    }

    /// Tells the pipeline that everything a fetch found was submitted.
    func fetchEnded(_ number: Int) {
        let mustWake = state.withLock { state in
            state.arrivals.endedFetches.append(number)
            return state.mustWake()
        }
        if mustWake { wake.signal() }
    }

    /// Everything that waits; blocks until there is something, or for `patience` milliseconds. Nil once closed and empty. For
    /// the pipeline's thread alone.
    func next(within patience: Int64? = nil) -> Arrivals? {
        let deadline = patience.map { DispatchTime.now() + .milliseconds(Int(clamping: $0)) } ?? .distantFuture
        while true {
            let (arrivals, isClosed) = state.withLock { state -> (Arrivals, Bool) in
                defer {
                    state.arrivals = Arrivals()
                    state.events = 0
                    state.bytes = 0
                }
                state.ownerSleeps = state.arrivals.isEmpty && !state.isClosed
                return (state.arrivals, state.isClosed)
            }
            if !arrivals.isEmpty { return arrivals }
            if isClosed { return nil }
            if wake.wait(timeout: deadline) == .timedOut { return Arrivals() }
        }
    }

    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Lets what waits be processed and takes nothing more.
    package func close() {
        let mustWake = state.withLock { state in
            state.isClosed = true
            return state.mustWake()
        }
        if mustWake { wake.signal() }
    }
}

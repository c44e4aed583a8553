import Synchronization
import Units

/// A part of the router that starts and stops by itself.
///
/// All parts prepare in the order in which they are declared, then all start in that order. They stop in the opposite
/// order, one after the other, also when one of them could not start.
protocol RouterPart: Sendable {
    /// Takes what may be refused, such as ports. Attempts nothing.
    func prepare() async throws
    /// Begins to work.
    func start() async throws
    /// Ends within its share of the time. Called once, also for a part that never started.
    func stop(_ time: StopBudget) async
}

extension RouterPart {
    func prepare() async throws {}

    func start() async throws {}
}

/// What is left of the time for stopping.
struct StopBudget: Sendable {
    private let time: StoppingTime
    private let now: @Sendable () -> Timestamp

    /// Begins now.
    init(_ total: Duration, now: @escaping @Sendable () -> Timestamp) {
        time = StoppingTime(total, now: now())
        self.now = now
    }

    /// The time of a step that takes no more than `percent` of the whole time.
    func part(_ percent: Int) -> Duration { time.part(percent, now: now()) }

    /// The end of a step that takes no more than `percent` of the whole time and leaves
    /// `others` percent to the steps behind it.
    func deadline(_ percent: Int, leaving others: Int) -> Timestamp {
        let now = now()
        return now + min(time.part(percent, now: now), time.allBut(others, now: now))
    }
}

/// Lets the steps of a start come one after the other, although each is taken by a task of its own. The first that
/// fails is the last.
final class StartOrder: Sendable {
    private struct State {
        var next = 0
        var failure: (any Error)?
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    /// Why the start failed.
    var failure: (any Error)? { state.withLock { $0.failure } }

    /// Takes step number `step`, counted from 0, once all before it are done; does nothing after a failure.
    ///
    /// Returns false when this step failed.
    func take(_ step: Int, _ body: () async throws -> Void) async -> Bool {
        await withCheckedContinuation { continuation in
            let isDue = state.withLock { state in
                guard state.next < step else { return true }
                state.waiters[step] = continuation
                return false
            }
            if isDue { continuation.resume() }
        }
        defer { finish(step) }
        guard failure == nil else { return true }
        do {
            try await body()
            return true
        } catch {
            state.withLock { $0.failure = error }
            return false
        }
    }

    private func finish(_ step: Int) {
        let waiter = state.withLock { state in
            state.next = step + 1
            return state.waiters.removeValue(forKey: step + 1)
        }
        waiter?.resume()
    }
}

/// How long each step of stopping may take, so that all of them end in time. Knows no clock.
struct StoppingTime {
    private let total: Duration
    private let end: Timestamp

    init(_ total: Duration, now: Timestamp) {
        self.total = total
        end = now + total
    }

    /// What is left. A clock that jumps back gives no more than there was.
    func left(now: Timestamp) -> Duration { min(total, max(.zero, end - now)) }

    /// For a step that should take no more than `percent` of everything.
    func part(_ percent: Int, now: Timestamp) -> Duration { min(left(now: now), share(percent)) }

    /// What is left but for `percent` of everything, which later steps are to have.
    func allBut(_ percent: Int, now: Timestamp) -> Duration { max(.zero, left(now: now) - share(percent)) }

    private func share(_ percent: Int) -> Duration { total * percent / 100 }
}

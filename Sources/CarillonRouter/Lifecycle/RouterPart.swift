import Synchronization

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
    private let now: @Sendable () -> Int64

    /// Begins now.
    init(seconds: Int, now: @escaping @Sendable () -> Int64) {
        time = StoppingTime(seconds: seconds, now: now())
        self.now = now
    }

    /// Milliseconds for a step that takes no more than `percent` of the whole time.
    func part(_ percent: Int64) -> Int64 { time.part(percent, now: now()) }

    /// Milliseconds since 1970: the end of a step that takes no more than `percent` of the whole time and leaves
    /// `others` percent to the steps behind it.
    func deadline(_ percent: Int64, leaving others: Int64) -> Int64 {
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

/// How long each step of stopping may take, so that all of them end in time. Knows no clock: times are milliseconds.
struct StoppingTime {
    private let total: Int64
    private let end: Int64

    init(seconds: Int, now: Int64) {
        total = Int64(seconds) * 1_000
        end = now + total
    }

    /// What is left. A clock that jumps back gives no more than there was.
    func left(now: Int64) -> Int64 { min(total, max(0, end - now)) }

    /// For a step that should take no more than `percent` of everything.
    func part(_ percent: Int64, now: Int64) -> Int64 { min(left(now: now), total * percent / 100) }

    /// What is left but for `percent` of everything, which later steps are to have.
    func allBut(_ percent: Int64, now: Int64) -> Int64 { max(0, left(now: now) - total * percent / 100) }
}

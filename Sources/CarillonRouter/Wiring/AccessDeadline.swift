import Logging
import Synchronization
import Units

/// Ends rules of access when their time is over: sleeps until the first of them ends, and decides anew whenever the
/// rules change.
final class AccessDeadline: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isStopped = false
    }

    /// A clock that is set forward meanwhile delays an end by no more than this.
    static let longestSleep: Duration = .hours(1)
    /// When the disk did not take it.
    static let retryPause: Duration = .minutes(1)

    private let end: @Sendable () throws -> Void
    private let sleep: @Sendable (Duration) async throws -> Void
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state = Mutex(State())

    /// `end` ends the rules whose time is over, and leads to ``follow(_:)`` when it has.
    init(
        end: @escaping @Sendable () throws -> Void,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.end = end
        self.sleep = sleep
        self.now = now
        self.logger = logger
    }

    /// The first rule ends at `next`; nil: none does.
    func follow(_ next: Timestamp?) {
        state.withLock { state in
            state.task?.cancel()
            guard !state.isStopped, let next else {
                state.task = nil
                return
            }
            state.task = Task { [self] in await wait(until: next) }
        }
    }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.task?.cancel()
            state.task = nil
        }
    }

    private func wait(until next: Timestamp) async {
        do {
            while true {
                while now() < next { try await sleep(min(next - now(), Self.longestSleep)) }
                do {
                    return try end()
                } catch {
                    logger.error("Blocks could not be ended", metadata: ["error": "\(error)"])
                    try await sleep(Self.retryPause)
                }
            }
        } catch {
            // Cancelled: other rules hold by now.
        }
    }
}

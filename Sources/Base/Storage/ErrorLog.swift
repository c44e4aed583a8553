import Core
import Logging
import Synchronization

/// Logs a persistent failure: when it starts, at most once a minute while it lasts, and when it has passed. So a disk
/// that is full for an hour does not fill another one with messages.
package final class ErrorLog: Sendable {
    private struct State {
        var began: Timestamp?
        /// Whether the current failure was logged.
        var isLogged = false
        var loggedAt: Timestamp?
        /// The number of failures since then that were not logged.
        var suppressed = 0
    }

    private static let interval: Duration = .minutes(1)

    private let message: Logger.Message
    private let level: Logger.Level
    private let metadata: Logger.Metadata
    private let logger: Logger
    private let state = Mutex(State())

    /// `metadata` describes the failing part.
    package init(
        _ message: Logger.Message,
        level: Logger.Level = .error,
        metadata: Logger.Metadata = [:],
        logger: Logger
    ) {
        self.message = message
        self.level = level
        self.metadata = metadata
        self.logger = logger
    }

    package func occurred(_ error: (any Error)? = nil, at now: Timestamp) {
        let suppressed = state.withLock { state -> Int? in
            state.began = state.began ?? now
            // If the clock was set back, log anyway.
            if let loggedAt = state.loggedAt, max(now - loggedAt, loggedAt - now) < Self.interval {
                state.suppressed += 1
                return nil
            }
            defer { state.suppressed = 0 }
            state.loggedAt = now
            state.isLogged = true
            return state.suppressed
        }
        guard let suppressed else { return }
        var metadata = metadata
        if let error { metadata["error"] = "\(error)" }
        if suppressed > 0 { metadata["unsaid"] = "\(suppressed)" }
        logger.log(level: level, message, metadata: metadata)
    }

    /// Notes a success. Cheap while there are no failures.
    package func passed(at now: Timestamp) {
        let seconds = state.withLock { state -> Int64? in
            guard let began = state.began else { return nil }
            defer {
                state.began = nil
                state.isLogged = false
            }
            return state.isLogged ? max(0, (now - began).seconds) : nil
        }
        guard let seconds else { return }
        logger.notice("Passed: \(message)", metadata: metadata.merging(["seconds": "\(seconds)"]) { $1 })
    }
}

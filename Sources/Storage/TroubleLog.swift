import Logging
import Synchronization

/// Tells of one kind of trouble when it begins, once a minute at most, and when it has passed: a disk that is full for an hour
/// shall not fill another one with what is said about it.
package final class TroubleLog: Sendable {
    private struct State {
        var began: Int64?
        /// Whether anybody was told of the trouble that goes on.
        var isKnown = false
        var saidAt: Int64?
        var unsaid = 0
    }

    private static let interval: Int64 = 60_000

    private let message: Logger.Message
    private let level: Logger.Level
    private let metadata: Logger.Metadata
    private let logger: Logger
    private let state = Mutex(State())

    /// `metadata` says whose trouble it is.
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

    /// `now` is in milliseconds since 1970.
    package func occurred(_ error: (any Error)? = nil, at now: Int64) {
        let unsaid = state.withLock { state -> Int? in
            state.began = state.began ?? now
            // A clock that was put back is no reason for silence.
            if let saidAt = state.saidAt, abs(now - saidAt) < Self.interval {
                state.unsaid += 1
                return nil
            }
            defer { state.unsaid = 0 }
            state.saidAt = now
            state.isKnown = true
            return state.unsaid
        }
        guard let unsaid else { return }
        var metadata = metadata
        if let error { metadata["error"] = "\(error)" }
        if unsaid > 0 { metadata["unsaid"] = "\(unsaid)" }
        logger.log(level: level, message, metadata: metadata)
    }

    /// It worked. Cheap while it always does.
    package func passed(at now: Int64) {
        let seconds = state.withLock { state -> Int64? in
            guard let began = state.began else { return nil }
            defer {
                state.began = nil
                state.isKnown = false
            }
            return state.isKnown ? max(0, now - began) / 1000 : nil
        }
        guard let seconds else { return }
        logger.notice("Passed: \(message)", metadata: metadata.merging(["seconds": "\(seconds)"]) { $1 })
    }
}

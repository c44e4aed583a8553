/// The wait after failed connections: doubling from a start to a limit, and jittered down to half of it so that what
/// failed together does not come back together. Milliseconds.
struct Backoff {
    private let start: Int64
    private let limit: Int64
    private var failures = 0
    /// When the next attempt may be made.
    private(set) var retryAt: Int64 = .min
    private(set) var lastReason: HTTPFailure.Reason?

    init(start: Int64, limit: Int64) {
        self.start = start
        self.limit = limit
    }

    /// - Parameters:
    ///   - reason: What to tell those who cannot wait.
    ///   - now: The present time.
    ///   - jitter: From 0 to 1.
    mutating func failed(_ reason: HTTPFailure.Reason, now: Int64, jitter: Double) {
        let full = min(limit, start << min(failures, 20))
        failures += 1
        lastReason = reason
        retryAt = now + full / 2 + Int64(Double(full - full / 2) * min(max(jitter, 0), 1))
    }

    mutating func succeeded() {
        failures = 0
        lastReason = nil
        retryAt = .min
    }
}

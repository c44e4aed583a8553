import Core

/// Decides when an origin gets another connection. The caller supplies time and jitter.
struct ConnectionPlan {
    enum Decision: Equatable {
        case none
        case connect
        /// Connect, but not before this time.
        case connectAt(Deadline)
    }

    /// The existing connections.
    struct Stats {
        var connecting = 0
        /// Open and not draining.
        var usable = 0
        /// Whether a usable connection has not received a response yet: the peer may still allow it more streams.
        var hasUnproven = false
    }

    private(set) var backoff: Backoff
    private let limit: Int

    init(settings: ConnectionSettings) {
        backoff = Backoff(start: settings.backoffStart, limit: settings.backoffLimit)
        limit = settings.connectionsPerOrigin
    }

    /// Decides for `waiting` requests that no connection has capacity for.
    func decide(waiting: Int, stats: Stats, now: Deadline) -> Decision {
        guard waiting > 0, stats.connecting == 0 else { return .none }
        if stats.usable == 0 { return now >= backoff.retryAt ? .connect : .connectAt(backoff.retryAt) }
        return stats.usable < limit && !stats.hasUnproven && now >= backoff.retryAt ? .connect : .none
    }

    /// Whether to open another connection in advance because the last one takes no more requests. Only while requests
    /// keep coming.
    func wantsReplacement(stats: Stats, lastRequest: Deadline, now: Deadline) -> Bool {
        stats.usable == 0 && stats.connecting == 0 && now >= backoff.retryAt && now - lastRequest < Self.busyFor
    }

    /// How long after a request more are expected.
    private static let busyFor: Duration = .minutes(1)

    /// Notes that a connection ended without any response.
    mutating func failed(_ reason: HTTPError.Reason, now: Deadline, jitter: Double) {
        backoff.failed(reason, now: now, jitter: jitter)
    }

    mutating func succeeded() {
        backoff.succeeded()
    }

    /// Why a new request with this deadline would fail, if it needs a new connection; nil if it can succeed.
    func immediateFailure(deadline: Deadline, now: Deadline) -> HTTPError.Reason? {
        guard let reason = backoff.lastReason, now < backoff.retryAt else { return nil }
        return reason == .forbiddenAddress || deadline <= backoff.retryAt ? reason : nil
    }
}

/// The delay after failed connections. It doubles from a start to a limit, and jitter shortens it by up to half, so
/// that connections that failed together do not reconnect together.
struct Backoff {
    private let start: Duration
    private let limit: Duration
    private var failures = 0
    /// When the next attempt may be made.
    private(set) var retryAt: Deadline = .distantPast
    private(set) var lastReason: HTTPError.Reason?

    init(start: Duration, limit: Duration) {
        self.start = start
        self.limit = limit
    }

    /// - Parameters:
    ///   - reason: The failure of requests that cannot wait.
    ///   - now: The current time.
    ///   - jitter: From 0 to 1.
    mutating func failed(_ reason: HTTPError.Reason, now: Deadline, jitter: Double) {
        let full = min(limit, start * (1 << min(failures, 20)))
        failures += 1
        lastReason = reason
        retryAt = now + full / 2 * (1 + min(max(jitter, 0), 1))
    }

    mutating func succeeded() {
        failures = 0
        lastReason = nil
        retryAt = .distantPast
    }
}

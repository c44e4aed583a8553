/// Decides when an origin gets another connection. Pure: milliseconds and chance come from outside.
struct ConnectionPlan {
    enum Decision: Equatable {
        case none
        case connect
        /// Not before this time.
        case connectAt(Int64)
    }

    /// What the plan has to know of the lanes there are.
    struct Census {
        var connecting = 0
        /// Open and not draining.
        var usable = 0
        /// Some usable lane is still unproven: the peer may yet allow it more streams.
        var hasUnproven = false
    }

    private(set) var backoff: Backoff
    private let limit: Int

    init(settings: LaneSettings) {
        backoff = Backoff(start: settings.backoffStart, limit: settings.backoffLimit)
        limit = settings.connectionsPerOrigin
    }

    /// For `waiting` requests that no lane has room for.
    func decide(waiting: Int, census: Census, now: Int64) -> Decision {
        guard waiting > 0, census.connecting == 0 else { return .none }
        if census.usable == 0 { return now >= backoff.retryAt ? .connect : .connectAt(backoff.retryAt) }
        return census.usable < limit && !census.hasUnproven && now >= backoff.retryAt ? .connect : .none
    }

    /// Whether another connection is opened before anybody asks, because the last one takes no more: only where requests
    /// still come.
    func wantsReplacement(census: Census, lastRequest: Int64, now: Int64) -> Bool {
        census.usable == 0 && census.connecting == 0 && now >= backoff.retryAt && now - lastRequest < Self.busyFor
    }

    /// How long after a request more are expected, in milliseconds.
    private static let busyFor: Int64 = 60_000

    /// A connection that never answered anything ended.
    mutating func failed(_ reason: HTTPFailure.Reason, now: Int64, jitter: Double) {
        backoff.failed(reason, now: now, jitter: jitter)
    }

    mutating func succeeded() {
        backoff.succeeded()
    }

    /// Why a new request with this deadline has no chance, when only a new connection could carry it.
    func hopeless(deadline: Int64, now: Int64) -> HTTPFailure.Reason? {
        guard let reason = backoff.lastReason, now < backoff.retryAt else { return nil }
        return reason == .forbiddenAddress || deadline <= backoff.retryAt ? reason : nil
    }
}

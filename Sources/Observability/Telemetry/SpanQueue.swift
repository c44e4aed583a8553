import Core

/// A queue of spans for the collector: bounded, sent in batches, one request at a time. Pure.
struct SpanQueue {
    enum Action: Equatable {
        case nothing
        case wait(until: Timestamp)
        case send([Span])
    }

    /// The collector's response to a batch.
    enum Outcome: Equatable {
        /// Accepted, except for `refused` spans.
        case taken(refused: Int)
        /// Retry after this time; zero: the collector named none.
        case later(Duration)
        case refused
    }

    /// Results of spans since the start.
    struct Counts: Equatable, Sendable {
        var sent = 0
        /// The queue was full, or the collector did not respond for too long.
        var dropped = 0
        /// Refused by the collector.
        var refused = 0
    }

    static let batch = 512
    private static let capacity = 8_192
    private static let interval: Duration = .seconds(5)
    private static let longestWait: Duration = .minutes(1)
    private static let attemptLimit = 8

    private var waiting: [Span] = []
    private var inHand: [Span] = []
    private var isSending = false
    private var attempts = 0
    private var dueAt: Timestamp?
    private(set) var counts = Counts()

    /// Whether no span waits or is being sent.
    var isIdle: Bool { waiting.isEmpty && inHand.isEmpty }

    /// Adds spans; above the limit the newest are dropped.
    mutating func add(_ spans: [Span], now: Timestamp) {
        let room = max(0, Self.capacity - waiting.count)
        waiting += spans.prefix(room)
        counts.dropped += max(0, spans.count - room)
        if dueAt == nil, !spans.isEmpty { dueAt = now + Self.interval }
    }

    /// The next action; `isLast`: no more spans will come, so send immediately.
    mutating func next(now: Timestamp, isLast: Bool = false) -> Action {
        guard !isSending else { return .nothing }
        let isRepeat = !inHand.isEmpty
        guard isRepeat || !waiting.isEmpty else {
            dueAt = nil
            return .nothing
        }
        let due = dueAt ?? now
        // A clock that was set back must not extend the wait.
        let isDue = isLast || now >= due || due - now > Self.longestWait || (!isRepeat && waiting.count >= Self.batch)
        guard isDue else { return .wait(until: due) }
        if !isRepeat {
            inHand = Array(waiting.prefix(Self.batch))
            waiting.removeFirst(inHand.count)
        }
        isSending = true
        attempts += 1
        return .send(inHand)
    }

    /// Records the result of the request.
    mutating func finish(_ outcome: Outcome, now: Timestamp) {
        isSending = false
        switch outcome {
        case .taken(let refused):
            let refused = min(max(0, refused), inHand.count)
            counts.sent += inHand.count - refused
            counts.refused += refused
            settle(now: now)
        case .refused:
            counts.refused += inHand.count
            settle(now: now)
        case .later where attempts >= Self.attemptLimit:
            counts.dropped += inHand.count
            settle(now: now)
        case .later(let wait):
            let usual = Duration.seconds(1) * (1 << min(attempts - 1, 6))
            dueAt = now + min(max(wait, usual), Self.longestWait)
        }
    }

    private mutating func settle(now: Timestamp) {
        inHand = []
        attempts = 0
        dueAt = waiting.isEmpty ? nil : now + Self.interval
    }
}

import Core

/// Spans that wait for the collector: bounded, sent in batches, one request at a time. Pure.
struct SpanQueue {
    enum Action: Equatable {
        case nothing
        case wait(until: Timestamp)
        case send([Span])
    }

    /// The response of the collector to a batch.
    enum Outcome: Equatable {
        /// `refused` of its spans it did not take.
        case taken(refused: Int)
        /// It may take the batch later; zero: it does not say when.
        case later(Duration)
        case refused
    }

    /// What became of spans since the start.
    struct Counts: Equatable, Sendable {
        var sent = 0
        /// There was no room, or the collector did not answer for too long.
        var dropped = 0
        /// The collector does not want them.
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

    /// Whether nothing waits and nothing is under way.
    var isIdle: Bool { waiting.isEmpty && inHand.isEmpty }

    /// Adds spans; those beyond the limit are dropped, the newest first.
    mutating func add(_ spans: [Span], now: Timestamp) {
        let room = max(0, Self.capacity - waiting.count)
        waiting += spans.prefix(room)
        counts.dropped += max(0, spans.count - room)
        if dueAt == nil, !spans.isEmpty { dueAt = now + Self.interval }
    }

    /// What is to be done now; `isLast`: there will be no more, so that nothing is waited for.
    mutating func next(now: Timestamp, isLast: Bool = false) -> Action {
        guard !isSending else { return .nothing }
        let isRepeat = !inHand.isEmpty
        guard isRepeat || !waiting.isEmpty else {
            dueAt = nil
            return .nothing
        }
        let due = dueAt ?? now
        // A clock that was set back is no reason to wait longer.
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

    /// The request has ended.
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

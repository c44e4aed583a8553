import Core
import Delivery
import DequeModule
import Dispatch
import Nostr
import Synchronization

/// The queue between sources and the pipeline's thread. Bounded: beyond its limit a submission is refused at once, with
/// an answer that says so, instead of being kept in memory.
package final class Intake: Sendable {
    private struct State {
        var submissions = Deque<Submission>()
        /// How many submissions the owner has taken so far, without requests.
        var taken = 0
        /// What is asked for over the API, behind the events.
        var requests = RequestBacklog()
        /// Events that the owner took last, without requests.
        var underWay = 0
        /// Fetches that ended, and how many submissions come before each end.
        var endedFetches: [(number: Int, isAnswered: Bool, after: Int)] = []
        /// What else there is, in no order with the submissions.
        var arrivals = Arrivals()
        var events = 0
        var bytes = 0
        var isClosed = false
        var isAbandoned = false
        var isNudged = false
        var ownerSleeps = false
        /// Whether anything waits that an end may set free.
        var awaitsEnds = true

        /// Takes out the oldest submissions until they have `limit` events, or requests when there are none or when it
        /// is their turn, the ends of fetches that are not behind others, and everything else.
        mutating func take(_ limit: Int, at time: Deadline) -> Arrivals {
            defer {
                arrivals = Arrivals()
                isNudged = false
            }
            var (count, events, bytes) = (0, 0, 0)
            for submission in submissions {
                guard events < limit else { break }
                count += 1
                events += submission.events.count
                bytes += submission.size
            }
            arrivals.submissions = Array(submissions.prefix(count))
            submissions.removeFirst(count)
            taken += count
            self.events -= events
            self.bytes -= bytes
            underWay = events
            takeRequests(at: time)
            let ended = endedFetches.prefix { $0.after <= taken }
            arrivals.endedFetches = ended.map(\.number)
            arrivals.unansweredFetches = Set(ended.lazy.filter { !$0.isAnswered }.map(\.number))
            endedFetches.removeFirst(ended.count)
            return arrivals
        }

        private mutating func takeRequests(at time: Deadline) {
            let (events, bytes) = (requests.events, requests.bytes)
            if isClosed {
                arrivals.submissions += requests.takeAll()
            } else if arrivals.submissions.isEmpty || requests.isOverdue(at: time, Intake.longestWait) {
                arrivals.submissions += requests.take(at: time)
            }
            self.events -= events - requests.events
            self.bytes -= bytes - requests.bytes
        }

        /// Whether the owner has to be woken, which is then seen to.
        mutating func mustWake() -> Bool {
            defer { ownerSleeps = false }
            return ownerSleeps
        }
    }

    /// While so many events come that there are always some, requests wait no longer for their turn.
    private static let longestWait: Duration = .milliseconds(200)

    /// So many ends are not left lying until the owner comes by itself.
    private static let mostEnds = 1_000

    private let state = Mutex(State())
    private let wake = MonotonicSemaphore()
    private let limit: Int
    private let byteLimit: ByteCount
    /// How many events the owner gets at a time.
    private let portion: Int
    private let answered: (@Sendable (EventSource, _ events: Int, _ nanoseconds: UInt64) -> Void)?
    private let now: @Sendable () -> Deadline

    /// No more events are taken when `limit` events or `byteLimit` of them wait. The owner gets `portion` of them at a
    /// time, or more where the last submission has more: what comes of a portion can be sent while the next one is
    /// worked on. `answered` receives how long the answer to each submission took, on the pipeline's thread.
    package init(
        limit: Int = 100_000,
        byteLimit: ByteCount = .mebibytes(128),
        portion: Int = 512,
        answered: (@Sendable (EventSource, _ events: Int, _ nanoseconds: UInt64) -> Void)? = nil,
        now: @escaping @Sendable () -> Deadline = Deadline.now
    ) {
        self.limit = limit
        self.byteLimit = byteLimit
        self.portion = portion
        self.answered = answered
        self.now = now
    }

    /// Hands `submission` over to the pipeline. Any thread; never blocks.
    package func submit(_ submission: Submission) { submit([submission]) }

    /// The same for several, which the pipeline finds together.
    ///
    /// Events go before what is asked for over the API: an event is not to wait behind a notification that somebody
    /// sends to thousands.
    package func submit(_ submissions: [Submission]) {
        guard !submissions.isEmpty else { return }
        let submissions = submissions.map(timed)
        let time = now()
        let (refusals, mustWake) = state.withLock { state -> ([(Submission, String)], Bool) in
            if state.isClosed { return (submissions.map { ($0, Self.shuttingDown) }, false) }
            var refusals: [(Submission, String)] = []
            for submission in submissions {
                guard state.events < limit, ByteCount(state.bytes) < byteLimit else {
                    refusals.append((submission, "error: too busy, try again later"))
                    continue
                }
                state.events += submission.events.count
                state.bytes += submission.size
                if case .api = submission.source {
                    state.requests.add(submission, at: time)
                } else {
                    state.submissions.append(submission)
                }
            }
            return (refusals, refusals.count < submissions.count && state.mustWake())
        }
        if mustWake { wake.signal() }
        for (submission, refusal) in refusals { Self.refuse(submission, refusal) }
    }

    /// Wakes the owner if `body` says that it is to come; returns what it says.
    @discardableResult
    private func change(_ body: (inout sending State) -> Bool) -> Bool {
        let (isCalled, mustWake) = state.withLock { state in
            let isCalled = body(&state)
            return (isCalled, isCalled && state.mustWake())
        }
        if mustWake { wake.signal() }
        return isCalled
    }

    private func refuse(_ arrivals: Arrivals) {
        for submission in arrivals.submissions { Self.refuse(submission, Self.shuttingDown) }
        for change in arrivals.settings { change.completion(.failure(CancellationError())) }
    }

    private static let shuttingDown = "error: shutting down, try again later"

    /// Without its id a sender could not tell which event was refused.
    private static func refuse(_ submission: Submission, _ message: String) {
        var scanner = EventScanner()
        submission.completion(
            submission.events.map { json in
                let id = try? json.withUnsafeBytes { try scanner.scan($0).id }
                return EventVerdict(id: id, .refused(message))
            }
        )
    }

    private func timed(_ submission: Submission) -> Submission {
        guard let answered else { return submission }
        let (source, count) = (submission.source, submission.events.count)
        let begin = DispatchTime.now().uptimeNanoseconds
        return Submission(events: submission.events, source: source, isOurs: submission.isOurs) { verdicts in
            answered(source, count, DispatchTime.now().uptimeNanoseconds &- begin)
            submission.completion(verdicts)
        }
    }

    /// Tells the pipeline that everything a fetch found was submitted; `isAnswered`: some relay said that this was all.
    /// The pipeline reads this after the events that the fetch found.
    func fetchEnded(_ number: Int, isAnswered: Bool = true) {
        change { state in
            state.endedFetches.append((number, isAnswered, after: state.taken + state.submissions.count))
            return true
        }
    }

    /// Tells the pipeline whether the owners of its accounts' partitions kept an event.
    func handOverEnded(_ event: EventID, isKept: Bool) {
        change { state in
            state.arrivals.endedHandOvers.append((event, isKept))
            return true
        }
    }

    /// Tells the pipeline how deliveries ended; once it is closed, only the outbox knows. Any thread; never blocks.
    ///
    /// Where nothing waits for them the owner finds them with what comes next, as each would cost it a batch. Returns
    /// whether it is to come for them.
    @discardableResult
    package func ended(_ ends: [PushEnd]) -> Bool {
        guard !ends.isEmpty else { return false }
        return change { state in
            guard !state.isClosed else { return false }
            state.arrivals.ends += ends
            return state.awaitsEnds || state.arrivals.ends.count >= Self.mostEnds
        }
    }

    /// Says whether any end may set something free that waits. For the owner, before it looks for what has come.
    func awaitEnds(_ isAwaited: Bool) { state.withLock { $0.awaitsEnds = isAwaited } }

    /// A portion of what waits; blocks until there is something, or until `patience` is over. Nil once closed and
    /// empty. For the pipeline's thread alone.
    func next(within patience: Duration? = nil) -> Arrivals? {
        let deadline = patience.map { Deadline.now() + $0 }
        while true {
            let time = now()
            let (arrivals, isClosed, isAbandoned, isNudged) = state.withLock { state in
                let isNudged = state.isNudged
                let arrivals = state.take(state.isAbandoned ? .max : portion, at: time)
                state.ownerSleeps = arrivals.isEmpty && !state.isClosed && !isNudged
                return (arrivals, state.isClosed, state.isAbandoned, isNudged)
            }
            if isAbandoned {
                refuse(arrivals)
                return nil
            }
            if !arrivals.isEmpty || (isNudged && !isClosed) { return arrivals }
            if isClosed { return nil }
            guard wake.wait(until: deadline) else { return Arrivals() }
        }
    }

    /// A whole portion, if so much waits at this moment. For the pipeline's thread alone.
    func nextPortion() -> Arrivals? {
        let time = now()
        return state.withLock { state in
            let isWhole = state.events - state.requests.events >= portion
            return isWhole && !state.isAbandoned ? state.take(portion, at: time) : nil
        }
    }

    /// Puts other settings in force between two batches; says so, or why not, on the pipeline's thread. A closed intake
    /// refuses, on the caller's thread.
    package func adopt(
        _ settings: PipelineSettings,
        completion: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        let isTaken = change { state in
            guard !state.isClosed else { return false }
            state.arrivals.settings.append(SettingsChange(settings: settings, completion: completion))
            return true
        }
        if !isTaken { completion(.failure(CancellationError())) }
    }

    /// Takes out settings that wait, in their order.
    func takeSettings() -> [SettingsChange] {
        state.withLock { state in
            defer { state.arrivals.settings = [] }
            return state.arrivals.settings
        }
    }

    /// Has the pipeline's thread come round, although nothing came.
    func nudge() {
        change { state in
            state.isNudged = true
            return true
        }
    }

    /// Events that come before anything that is asked for over the API now: those that wait, and those that the owner
    /// works on.
    package var eventsAhead: Int { state.withLock { $0.events - $0.requests.events + $0.underWay } }

    /// What waits at this moment.
    package var backlog: IntakeBacklog {
        state.withLock { IntakeBacklog(events: $0.events, bytes: $0.bytes, limit: limit) }
    }

    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Lets what waits be processed and takes nothing more.
    package func close() {
        change { state in
            state.isClosed = true
            return true
        }
    }

    /// Takes nothing more, and refuses what waits: no sender has an OK for it yet.
    package func abandon() {
        change { state in
            state.isClosed = true
            state.isAbandoned = true
            return true
        }
    }
}

/// What waits in an intake at a moment.
package struct IntakeBacklog: Sendable, Hashable {
    package var events: Int
    package var bytes: Int
    /// How many events may wait.
    package var limit: Int
}

/// What is asked for over the API and waits behind events. Taken a part at a time, so that an event that comes
/// meanwhile waits for one part only, however many people one request is for.
struct RequestBacklog {
    /// Events that are taken at a time, and bytes of them if the first one has not more. An event is the longer the
    /// more people it is for.
    private static let part = 64
    private static let partBytes: ByteCount = .kibibytes(24)

    private var waiting: Deque<Submission> = []
    /// Since when the first of them waits for its turn.
    private var since: Deadline?
    private(set) var bytes = 0

    var events: Int { waiting.count }

    mutating func add(_ submission: Submission, at time: Deadline) {
        if waiting.isEmpty { since = time }
        bytes += submission.size
        waiting += submission.parts
    }

    /// Whether others have gone first for that long.
    func isOverdue(at time: Deadline, _ longest: Duration) -> Bool { since.map { time - $0 >= longest } ?? false }

    /// Takes out a part.
    mutating func take(at time: Deadline) -> [Submission] {
        var (count, size) = (0, 0)
        for submission in waiting.prefix(Self.part) {
            guard count == 0 || size + submission.size <= Self.partBytes.bytes else { break }
            count += 1
            size += submission.size
        }
        defer { waiting.removeFirst(count) }
        bytes -= size
        since = count < waiting.count ? time : nil
        return Array(waiting.prefix(count))
    }

    mutating func takeAll() -> [Submission] {
        defer { self = RequestBacklog() }
        return Array(waiting)
    }
}

extension Submission {
    /// The same as submissions of one event each; whoever waits gets all verdicts together.
    fileprivate var parts: [Submission] {
        guard events.count > 1 else { return [self] }
        let verdicts = GatheredAnswers(events.count, completion)
        return events.enumerated().map { number, event in
            Submission(events: [event], source: source, isOurs: isOurs) { verdicts.add($0, number) }
        }
    }
}

/// Verdicts of a submission's events, which come one by one.
private final class GatheredAnswers: Sendable {
    private struct State {
        var verdicts: [EventVerdict?]
        var missing: Int
    }

    private let state: Mutex<State>
    private let completion: @Sendable ([EventVerdict]) -> Void

    init(_ count: Int, _ completion: @escaping @Sendable ([EventVerdict]) -> Void) {
        state = Mutex(State(verdicts: Array(repeating: nil, count: count), missing: count))
        self.completion = completion
    }

    /// `verdicts` of the event of that number: one.
    func add(_ verdicts: [EventVerdict], _ number: Int) {
        let all = state.withLock { state -> [EventVerdict]? in
            if state.verdicts[number] == nil { state.missing -= 1 }
            state.verdicts[number] = verdicts.first
            return state.missing == 0 ? state.verdicts.compactMap(\.self) : nil
        }
        if let all { completion(all) }
    }
}

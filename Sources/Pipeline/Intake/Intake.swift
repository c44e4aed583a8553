import Core
import Delivery
import DequeModule
import Dispatch
import Nostr
import Synchronization

/// The queue between sources and the pipeline's thread. Its size is limited: beyond the limit a submission is refused
/// immediately, with an error.
package final class Intake: Sendable {
    private struct State {
        var submissions = Deque<Submission>()
        /// How many submissions the pipeline has taken so far, without requests.
        var taken = 0
        /// API requests, which come after events.
        var requests = RequestBacklog()
        /// The number of events that the pipeline took last, without requests.
        var underWay = 0
        /// Ended fetches, and the number of submissions before each end.
        var endedFetches: [(number: Int, isAnswered: Bool, after: Int)] = []
        /// Everything else, in no order relative to the submissions.
        var arrivals = Arrivals()
        var events = 0
        var bytes = 0
        var isClosed = false
        var isAbandoned = false
        var isNudged = false
        var ownerSleeps = false
        /// Whether the end of a delivery may release a held push.
        var awaitsEnds = true

        /// Removes the oldest submissions up to `limit` events. Also removes requests if there are no events or it is
        /// their turn, fetches whose submissions are all taken, and everything else.
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

        /// Whether the caller must wake the pipeline. Resets the flag.
        mutating func mustWake() -> Bool {
            defer { ownerSleeps = false }
            return ownerSleeps
        }
    }

    /// The longest time that requests wait for their turn while events keep coming.
    private static let longestWait: Duration = .milliseconds(200)

    /// The number of ends that wake the pipeline even if it does not wait for them.
    private static let maxEnds = 1_000

    private let state = Mutex(State())
    private let wake = MonotonicSemaphore()
    private let limit: Int
    private let byteLimit: ByteCount
    /// The number of events that the pipeline gets at a time.
    private let portion: Int
    private let answered: (@Sendable (EventSource, _ events: Int, _ nanoseconds: UInt64) -> Void)?
    private let now: @Sendable () -> Deadline

    /// Refuses events while `limit` events or `byteLimit` bytes of them wait. The pipeline gets `portion` events at a
    /// time, or more if the last submission has more. The pushes of a portion can be sent while the next portion is
    /// processed. `answered` receives the time that the answer to each submission took, on the pipeline's thread.
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

    /// Passes `submission` to the pipeline. Can be called from any thread; never blocks.
    package func submit(_ submission: Submission) { submit([submission]) }

    /// Passes several submissions, which the pipeline gets together.
    ///
    /// Events come before API requests: an event must not wait for a notification to thousands of people.
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

    /// Wakes the pipeline if `body` returns true. Returns the result of `body`.
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

    /// Includes the ids, so that senders can tell which events were refused.
    private static func refuse(_ submission: Submission, _ message: String) {
        var scanner = EventScanner()
        submission.completion(
            submission.events.map { json in
                let id = try? json.withUnsafeBytes { try scanner.scan($0).id }
                return EventDecision(id: id, .refused(message))
            }
        )
    }

    private func timed(_ submission: Submission) -> Submission {
        guard let answered else { return submission }
        let (source, count) = (submission.source, submission.events.count)
        let begin = DispatchTime.now().uptimeNanoseconds
        return Submission(events: submission.events, source: source, isOurs: submission.isOurs) { decisions in
            answered(source, count, DispatchTime.now().uptimeNanoseconds &- begin)
            submission.completion(decisions)
        }
    }

    /// Notifies the pipeline that all results of a fetch were submitted. `isAnswered` is whether a relay confirmed that
    /// it sent everything. The pipeline reads this after the results.
    func fetchEnded(_ number: Int, isAnswered: Bool = true) {
        change { state in
            state.endedFetches.append((number, isAnswered, after: state.taken + state.submissions.count))
            return true
        }
    }

    /// Notifies the pipeline whether the owners of its accounts' partitions kept an event.
    func handOverEnded(_ event: EventID, isKept: Bool) {
        change { state in
            state.arrivals.endedHandOvers.append((event, isKept))
            return true
        }
    }

    /// Notifies the pipeline how deliveries ended. After `close()` only the outbox records this. Can be called from any
    /// thread; never blocks.
    ///
    /// If no held push waits for them, the pipeline gets them with the next arrivals, because each wake-up costs a
    /// batch. Returns whether the pipeline is woken.
    @discardableResult
    package func ended(_ ends: [CompletedPush]) -> Bool {
        guard !ends.isEmpty else { return false }
        return change { state in
            guard !state.isClosed else { return false }
            state.arrivals.ends += ends
            return state.awaitsEnds || state.arrivals.ends.count >= Self.maxEnds
        }
    }

    /// Sets whether the end of a delivery may release a held push. The pipeline calls this before it takes arrivals.
    func awaitEnds(_ isAwaited: Bool) { state.withLock { $0.awaitsEnds = isAwaited } }

    /// Returns a portion of the arrivals. Blocks until there are some or `timeout` has passed. Nil after the intake is
    /// closed and empty. Only for the pipeline's thread.
    func next(within timeout: Duration? = nil) -> Arrivals? {
        let deadline = timeout.map { Deadline.now() + $0 }
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

    /// Returns a whole portion if that many events wait now. Only for the pipeline's thread.
    func nextPortion() -> Arrivals? {
        let time = now()
        return state.withLock { state in
            let isWhole = state.events - state.requests.events >= portion
            return isWhole && !state.isAbandoned ? state.take(portion, at: time) : nil
        }
    }

    /// Applies new settings between two batches, and reports the result on the pipeline's thread. A closed intake
    /// reports an error on the caller's thread.
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

    /// Removes waiting settings, in order.
    func takeSettings() -> [SettingsChange] {
        state.withLock { state in
            defer { state.arrivals.settings = [] }
            return state.arrivals.settings
        }
    }

    /// Makes the pipeline's thread run once, even without arrivals.
    func nudge() {
        change { state in
            state.isNudged = true
            return true
        }
    }

    /// The number of events that are processed before new API requests: those that wait, and those in progress.
    package var eventsAhead: Int { state.withLock { $0.events - $0.requests.events + $0.underWay } }

    /// The events that wait now.
    package var backlog: IntakeBacklog {
        state.withLock { IntakeBacklog(events: $0.events, bytes: $0.bytes, limit: limit) }
    }

    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Stops taking submissions; those that wait are still processed.
    package func close() {
        change { state in
            state.isClosed = true
            return true
        }
    }

    /// Stops taking submissions and refuses those that wait: no sender has an OK for them yet.
    package func abandon() {
        change { state in
            state.isClosed = true
            state.isAbandoned = true
            return true
        }
    }
}

/// The size of an intake's queue at one time.
package struct IntakeBacklog: Sendable, Hashable {
    package var events: Int
    package var bytes: Int
    /// The maximum number of waiting events.
    package var limit: Int
}

/// API requests that wait after events. They are taken in parts, so that a new event waits for one part only, even if
/// one request is for many people.
struct RequestBacklog {
    /// The size of a part in events and in bytes; the first event may be larger. An event's size grows with the number
    /// of its recipients.
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

    /// Whether it has waited for that long.
    func isOverdue(at time: Deadline, _ longest: Duration) -> Bool { since.map { time - $0 >= longest } ?? false }

    /// Removes a part.
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
    /// The same events as submissions of one event each. The sender gets all decisions together.
    fileprivate var parts: [Submission] {
        guard events.count > 1 else { return [self] }
        let decisions = GatheredAnswers(events.count, completion)
        return events.enumerated().map { number, event in
            Submission(events: [event], source: source, isOurs: isOurs) { decisions.add($0, number) }
        }
    }
}

/// Collects the decisions of a submission's events, which come one by one.
private final class GatheredAnswers: Sendable {
    private struct State {
        var decisions: [EventDecision?]
        var missing: Int
    }

    private let state: Mutex<State>
    private let completion: @Sendable ([EventDecision]) -> Void

    init(_ count: Int, _ completion: @escaping @Sendable ([EventDecision]) -> Void) {
        state = Mutex(State(decisions: Array(repeating: nil, count: count), missing: count))
        self.completion = completion
    }

    /// Adds the decision about the event with that number; `decisions` contains one.
    func add(_ decisions: [EventDecision], _ number: Int) {
        let all = state.withLock { state -> [EventDecision]? in
            if state.decisions[number] == nil { state.missing -= 1 }
            state.decisions[number] = decisions.first
            return state.missing == 0 ? state.decisions.compactMap(\.self) : nil
        }
        if let all { completion(all) }
    }
}

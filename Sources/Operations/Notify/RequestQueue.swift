import Cipher
import Console
import Core
import Delivery
import Dispatch
import Nostr
import Pipeline
import Push
import Synchronization

/// A queue that writes requests to disk and submits them to the pipeline in batches. A transaction costs as much as a
/// hundred rows, and the pipeline handles events that arrive together as one batch.
///
/// A single request is written immediately. Under load, requests are collected briefly. If many events are queued,
/// requests wait for them, within limits. The caller waits until its request is done.
package final class RequestQueue: Sendable {
    /// The timeout for the owners of partitions. An owner may be down for longer than a sender waits.
    package static let ownerTimeout: Duration = .seconds(10)

    /// A request without a result.
    struct Request: Sendable {
        /// The record to store, or the one that another member stored.
        let record: RequestRecord
        /// A digest of the request's body.
        let body: [UInt8]
        let order: NotificationOrder
        /// Makes the request's events.
        let events: @Sendable (RequestRecord) throws -> [Event]
        /// Requested devices that are not registered.
        var unknown: [DeviceID] = []
    }

    private typealias Answer = CheckedContinuation<RequestRecord, any Error>

    private struct State {
        var new: [(request: Request, answer: OneAnswer)] = []
        var done: [RequestRecord] = []
        /// Whether a write is scheduled or delayed.
        var isScheduled = false
        var isResting = false
        /// How often the current write was delayed in favor of events.
        var delays = 0
    }

    /// The number of queued events that delays a write.
    private static let many = 16
    private static let delay: Duration = .milliseconds(5)
    private static let maxDelays = 40

    /// The maximum time to collect requests. After a write, the queue pauses for 1 ms for each of its requests.
    private static let longestRest: Duration = .milliseconds(20)

    private let outbox: Outbox
    private let intake: Intake
    /// The pipeline's timeout; `nil` if there is none.
    private let timeout: Duration?
    private let alarm: any Alarm
    private let now: @Sendable () -> Timestamp
    private let state = Mutex(State())
    /// The ids of requests that the pipeline is processing.
    private let underWay = Mutex<Set<[UInt8]>>([])
    private let queue = DispatchQueue(label: "carillon requests")

    package init(
        _ outbox: Outbox,
        _ intake: Intake,
        timeout: Duration?,
        alarm: (any Alarm)? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.outbox = outbox
        self.intake = intake
        self.timeout = timeout
        self.alarm = alarm ?? DispatchAlarm(now: now)
        self.now = now
    }

    /// Returns the record of a request when its results are on disk. Throws an ``APIError``.
    func take(_ request: Request) async throws -> RequestRecord {
        try await withCheckedThrowingContinuation { (answer: Answer) in
            schedule { $0.new.append((request, OneAnswer(answer))) }
        }
    }

    /// The number of collected requests.
    var waiting: Int { state.withLock { $0.new.count } }

    /// Returns the stored request of a sender.
    func known(of sender: [UInt8], key: [UInt8]) throws -> RequestRecord? {
        try RequestStore(outbox).find(sender, key: key)
    }

    /// Returns a request after writing the collected ones.
    func find(_ id: [UInt8]) throws -> RequestRecord? {
        _ = queue.sync { write() }
        return try RequestStore(outbox).find(id)
    }

    private func schedule(_ change: (inout State) -> Void) {
        let mustWrite = state.withLock { state in
            change(&state)
            guard !state.isScheduled, !state.isResting else { return false }
            state.isScheduled = true
            return true
        }
        if mustWrite { queue.async { [self] in writeAndRest() } }
    }

    private func writeAndRest() {
        let areEventsMany = intake.eventsAhead >= Self.many
        let mustWait = state.withLock { state in
            if areEventsMany, state.delays < Self.maxDelays {
                state.delays += 1
                return true
            }
            (state.delays, state.isScheduled, state.isResting) = (0, false, true)
            return false
        }
        if mustWait { return alarm.ring(at: now() + Self.delay) { [self] in queue.async { [self] in writeAndRest() } } }
        let rest = min(Self.longestRest, .milliseconds(write()))
        if rest <= .milliseconds(1) { return endRest() }
        alarm.ring(at: now() + rest) { [self] in endRest() }
    }

    private func endRest() {
        let mustWrite = state.withLock { state in
            state.isResting = false
            state.isScheduled = !state.new.isEmpty || !state.done.isEmpty
            return state.isScheduled
        }
        if mustWrite { queue.async { [self] in writeAndRest() } }
    }

    /// Writes the collected requests and submits them. Must run on `queue`. Returns their number.
    private func write() -> Int {
        let (new, done) = state.withLock { state in
            defer { (state.new, state.done) = ([], []) }
            return (state.new, state.done)
        }
        guard !new.isEmpty || !done.isEmpty else { return 0 }
        do {
            let known = try RequestStore(outbox).remember(new.map(\.request.record), done: done)
            let submissions = zip(new, known).compactMap { waiting, record in
                submission(waiting.request, as: record, waiting.answer)
            }
            intake.submit(submissions)
        } catch {
            let problem = APIError(503, "writing to disk failed: try again later", retryAfter: 5)
            for waiting in new { waiting.answer.give(.failure(problem)) }
        }
        return new.count
    }

    /// Returns `nil` if the request already has a response, because its events exist or cannot be made.
    private func submission(_ request: Request, as record: RequestRecord, _ answer: OneAnswer) -> Submission? {
        guard record.body == request.body else {
            answer.give(.failure(Self.otherBody))
            return nil
        }
        guard record.events.isEmpty else {
            answer.give(.success(record))
            return nil
        }
        guard underWay.withLock({ $0.insert(record.id).inserted }) else {
            answer.give(.failure(APIError(409, "the same request is in progress: wait for it", retryAfter: 1)))
            return nil
        }
        do {
            let events = try request.events(record)
            if let timeout {
                alarm.ring(at: now() + timeout) { [self] in end(record, answer, .failure(Self.silence)) }
            }
            return Submission(events: events.map(\.json), source: .api(request.order), isOurs: true) {
                [self] decisions in
                if let refusal = Self.refusal(decisions) { return end(record, answer, .failure(refusal)) }
                var done = record
                done.events = events.map(\.id.bytes.array)
                done.answer = NotifyReceipt.members(request.order.counts, unknown: request.unknown)
                // Scheduled before the sender can ask for it. If a crash loses it, the events are made again, same ids.
                schedule { $0.done.append(done) }
                end(record, answer, .success(done))
            }
        } catch {
            end(record, answer, .failure(error))
            return nil
        }
    }

    private func end(_ record: RequestRecord, _ answer: OneAnswer, _ result: Result<RequestRecord, any Error>) {
        guard answer.give(result) else { return }
        underWay.withLock { _ = $0.remove(record.id) }
    }

    static let otherBody = APIError(422, "the Idempotency-Key was used for a different body within the last day")

    private static let silence = APIError(
        503,
        "the owners of the recipients' partitions do not respond; retry with the same Idempotency-Key to send it once",
        retryAfter: 2
    )

    private static func refusal(_ decisions: [EventDecision]) -> APIError? {
        for case .refused(let reason) in decisions.map(\.result) {
            return APIError(503, reason.hasPrefix("error: ") ? String(reason.dropFirst(7)) : reason, retryAfter: 1)
        }
        return nil
    }
}

/// Delivers only the first of several responses.
private final class OneAnswer: Sendable {
    private let waiting: Mutex<CheckedContinuation<RequestRecord, any Error>?>

    init(_ waiting: CheckedContinuation<RequestRecord, any Error>) { self.waiting = Mutex(waiting) }

    /// Returns whether this response is the first.
    @discardableResult
    func give(_ result: Result<RequestRecord, any Error>) -> Bool {
        let continuation = waiting.withLock { $0.take() }
        continuation?.resume(with: result)
        return continuation != nil
    }
}

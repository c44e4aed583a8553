import Core
import Delivery
import Foundation
import HTTPClient
import JSON
import Logging
import Pipeline
import Synchronization

/// Exports the processing of events as spans with OTLP over HTTP. They hold no content, tokens or keys.
package final class Tracer: PipelineObserver, DeliveryObserver {
    private struct State {
        var recorder: SpanRecorder
        var queue = SpanQueue()
        var isAlarmSet = false
        var isLast = false
        var waiter: CheckedContinuation<Void, Never>?
        var loggedAt: Timestamp?
    }

    /// Results of spans since the start, by word.
    package var counts: [(result: String, count: Int)] {
        state.withLock { state in
            let counts = state.queue.counts
            return [
                ("sent", counts.sent), ("dropped", counts.dropped + state.recorder.shed), ("refused", counts.refused),
            ]
        }
    }

    private static let timeout: Duration = .seconds(10)
    /// The minimum time between two log lines about the collector.
    private static let quiet: Duration = .hours(1)

    private let settings: TracingSettings
    private let headers: HTTPFields
    private let sender: any HTTPSender
    private let alarm: any Alarm
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state: Mutex<State>

    /// Throws if the file with headers cannot be used.
    package init(
        _ settings: TracingSettings,
        ids: TraceIDs,
        sender: any HTTPSender,
        alarm: (any Alarm)? = nil,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws(CollectorHeadersError) {
        self.settings = settings
        var headers = HTTPFields()
        headers.append("content-type", "application/json")
        for field in try settings.headers() { headers.append(field.name, field.value) }
        self.headers = headers
        // A slow collector must not take capacity from push services.
        self.sender = sender.share()
        self.alarm = alarm ?? DispatchAlarm(now: now)
        self.now = now
        self.logger = logger
        state = Mutex(State(recorder: SpanRecorder(ids)))
    }

    package func record(_ counts: [PipelineStep: Int]) {}

    package func trace(_ steps: [TraceStep], at time: Timestamp) { export { $0.add(steps, at: time) } }

    package func attemptsBegan(_ attempts: [AttemptStart]) {
        let now = now()
        state.withLock { $0.recorder.began(attempts, at: now) }
    }

    package func deliveriesReported(_ reports: [DeliveryReport]) {
        let now = now()
        export { $0.ended(reports, at: now) }
    }

    package func deliveriesPostponed(_ reports: [DeliveryReport]) { deliveriesReported(reports) }

    /// Sends the remaining spans within `time`. Unfinished work has no spans.
    package func finish(within time: Duration) async {
        // The sender calls back eventually, even if the collector does not respond.
        alarm.ring(at: now() + time) { [self] in release() }
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isLast = true
                if !state.queue.isIdle { state.waiter = continuation }
                return state.queue.isIdle
            }
            if isIdle { continuation.resume() } else { act() }
        }
    }

    private func release() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    private func export(_ record: (inout SpanRecorder) -> [Span]) {
        let hasNew = state.withLock { state in
            let spans = record(&state.recorder)
            if !spans.isEmpty { state.queue.add(spans, now: now()) }
            return !spans.isEmpty
        }
        if hasNew { act() }
    }

    /// Runs the queue's next action.
    private func act() {
        let (action, isNewAlarm, isIdle) = state.withLock { state -> (SpanQueue.Action, Bool, Bool) in
            let action = state.queue.next(now: now(), isLast: state.isLast)
            guard case .wait = action else { return (action, false, state.queue.isIdle) }
            defer { state.isAlarmSet = true }
            return (action, !state.isAlarmSet, false)
        }
        switch action {
        case .nothing: if isIdle { release() }
        case .wait(let due):
            guard isNewAlarm else { return }
            alarm.ring(at: due) { [weak self] in
                self?.state.withLock { $0.isAlarmSet = false }
                self?.act()
            }
        case .send(let spans): send(spans)
        }
    }

    private func send(_ spans: [Span]) {
        var request = HTTPRequest(
            method: "POST",
            url: settings.endpoint,
            headers: headers,
            body: OTLP.body(spans, service: settings.service, version: settings.version)
        )
        request.timeout = Self.timeout
        sender.send(request) { [self] result in
            let outcome = SpanQueue.Outcome(result)
            let now = now()
            let shouldLog = state.withLock { state in
                state.queue.finish(outcome, now: now)
                // At the end there is no time for a retry.
                if state.isLast, case .later = outcome { state.queue = SpanQueue() }
                if case .taken(refused: 0) = outcome { return false }
                let isQuiet = state.loggedAt.map { now >= $0 && now - $0 < Self.quiet } ?? false
                if !isQuiet { state.loggedAt = now }
                return !isQuiet
            }
            if shouldLog { report(result) }
            act()
        }
    }

    private func report(_ result: Result<HTTPResponse, HTTPError>) {
        let reason =
            switch result {
            case .success(let response): "status \(response.status)"
            case .failure(let failure): failure.reason.rawValue
            }
        logger.warning("The collector rejected spans", metadata: ["key": "tracing.otlp", "reason": "\(reason)"])
    }
}

extension SpanQueue.Outcome {
    init(_ result: Result<HTTPResponse, HTTPError>) {
        switch result {
        case .failure: self = .later(.zero)
        case .success(let response):
            switch response.status {
            case 200...299: self = .taken(refused: Self.refused(response.body))
            case 429, 502, 503, 504:
                let seconds = response.headers.first { $0.name == "retry-after" }.flatMap { Int64($0.value) } ?? 0
                self = .later(.seconds(min(max(0, seconds), 3_600)))
            default: self = .refused
            }
        }
    }

    /// `{"partialSuccess":{"rejectedSpans":"3"}}`, where the number may be text.
    private static func refused(_ body: [UInt8]) -> Int {
        guard case .object(let answer)? = try? JSONValue(parsing: String(decoding: body, as: UTF8.self)),
            case .object(let partial)? = answer["partialSuccess"]
        else { return 0 }
        switch partial["rejectedSpans"] {
        case .string(let text): return Int(text) ?? 0
        case .number(let number): return Int(number) ?? 0
        default: return 0
        }
    }
}

/// The collector, and the sampled share of events.
package struct TracingSettings: Sendable, Equatable {
    /// The collector's URL for OTLP over HTTP, including the path `/v1/traces`.
    package let endpoint: String
    /// The share of events that is traced, from 0 to 1.
    package var sample = 0.01
    /// A file with more headers for the collector, which may be secret; nil: none.
    package var headersFile: String?
    /// The router's service name in traces.
    package var service = "carillon"
    /// The router's version.
    package var version = ""

    /// `url` is a collector's, with or without the path for traces. Nil if it is invalid.
    package init?(url: String) {
        guard let parts = URLParts(url), !parts.target.contains("?") else { return nil }
        let path = parts.target.hasSuffix("/") ? String(parts.target.dropLast()) : parts.target
        endpoint =
            URLParts("http\(parts.origin.isSecure ? "s" : "")://\(parts.origin.authority)")
            .map { String($0.normalized.dropLast()) + (path.hasSuffix("/v1/traces") ? path : path + "/v1/traces") }
            ?? url
    }

    /// The headers in ``headersFile``; none if there is no such file.
    package func headers() throws(CollectorHeadersError) -> HTTPFields {
        guard let headersFile else { return HTTPFields() }
        return try CollectorHeaders.read(headersFile)
    }
}

/// Parses a file of headers, one per line, such as `authorization: Bearer …`.
package enum CollectorHeaders {
    private static let limit = 65_536

    package static func read(_ path: String) throws(CollectorHeadersError) -> HTTPFields {
        guard let data = FileManager.default.contents(atPath: path), data.count <= limit else {
            throw CollectorHeadersError(
                description: "\(path): expected a readable file of at most \(limit) bytes"
            )
        }
        var fields = HTTPFields()
        let lines = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() where !line.allSatisfy(\.isWhitespace) && line.first != "#" {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].lowercased()
            guard parts.count == 2, !name.isEmpty else {
                throw CollectorHeadersError(
                    description: "\(path), line \(index + 1): expected a header such as name: value"
                )
            }
            fields.append(name, parts[1].trimmingCharacters(in: .whitespaces))
        }
        guard fields.isWellFormed else {
            throw CollectorHeadersError(description: "\(path): a header's name or value has invalid characters")
        }
        return fields
    }
}

/// An error in a file of headers; never contains a header.
package struct CollectorHeadersError: Error, CustomStringConvertible {
    package let description: String
}

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

import Core
import Delivery
import Nostr
import Pipeline
import Push

/// Builds spans from the reports of the pipeline and the courier. Pure and bounded: above the limit there are no spans.
///
/// The span `event` is the root of a trace: from the first step of an event to the decision about it. Below it is a
/// span `delivery` for each push, from its decision to its end, and below that `attempt`, from a request to its
/// outcome.
struct SpanRecorder {
    /// A report of the courier.
    private enum News {
        case began(attempt: Int, Timestamp)
        case report(DeliveryReport, Timestamp)
    }

    private struct OpenDelivery {
        let context: TraceContext
        var span: Span
        var attempts: [Int: Timestamp] = [:]
        /// The highest attempt whose end was reported.
        var ended = 0
    }

    private static let openLimit = 16_384
    private static let rootLimit = 4_096
    private static let unclaimedLimit = 1_024

    private let ids: TraceIDs
    private var deliveries: [DeliveryID: OpenDelivery] = [:]
    /// The root spans of events that still wait, for example for a name.
    private var roots: [EventID: Span] = [:]
    /// Recently ended roots: another step of their events starts no second one.
    private var endedRoots = Recent<EventID>(limit: Self.rootLimit)
    /// The courier may report before the pipeline does. Until the pipeline reports, it is unknown whether a delivery is
    /// traced.
    private var unclaimed: [DeliveryID: [News]] = [:]
    private var unclaimedOrder = Recent<DeliveryID>(limit: Self.unclaimedLimit)
    /// Deliveries and events dropped by the limits.
    private(set) var shed = 0

    init(_ ids: TraceIDs) { self.ids = ids }

    /// Takes the steps of a batch; returns the spans that ended with them.
    mutating func add(_ steps: [TraceStep], at time: Timestamp) -> [Span] {
        var finished: [Span] = []
        var contexts: [EventID: TraceContext?] = [:]
        var touched: [EventID] = []
        for step in steps {
            var context: TraceContext?
            if let event = step.event {
                if let known = contexts[event] {
                    context = known
                } else {
                    context = ids.context(of: event)
                    contexts[event] = .some(context)
                }
                if let context, add(step, to: event, context, at: time), !touched.contains(event) {
                    touched.append(event)
                }
            }
            if let delivery = step.delivery { finished += add(step, to: delivery, context, at: time) }
        }
        for event in touched {
            guard let root = roots[event], root.events.last?.name != PipelineStep.waiting.rawValue else { continue }
            roots[event] = nil
            endedRoots.insert(event)
            finished.append(root)
        }
        return finished
    }

    /// Adds a step to the root span of its event. Returns false if there is none.
    private mutating func add(
        _ step: TraceStep,
        to event: EventID,
        _ context: TraceContext,
        at time: Timestamp
    ) -> Bool {
        if roots[event] == nil {
            guard !endedRoots.contains(event) else { return false }
            guard roots.count < Self.rootLimit else {
                shed += 1
                return false
            }
            roots[event] = Span(context, id: context.root, parent: nil, name: "event", kind: .consumer, start: time)
        }
        roots[event]?.end = time
        roots[event]?.add(step.step.rawValue, at: time, reason: step.reason)
        return true
    }

    /// Adds a step of a delivery. `context` is that of the event that the step names, if any.
    private mutating func add(
        _ step: TraceStep,
        to delivery: DeliveryID,
        _ context: TraceContext?,
        at time: Timestamp
    ) -> [Span] {
        if deliveries[delivery] == nil {
            let news = takeUnclaimed(delivery)
            guard let context else { return [] }
            guard deliveries.count < Self.openLimit else {
                shed += 1
                return []
            }
            deliveries[delivery] = open(delivery, step, context, at: time)
            deliveries[delivery]?.span.add(step.step.rawValue, at: time, reason: step.reason)
            return news.flatMap { news in
                switch news {
                case .began(let attempt, let time):
                    began(delivery, attempt, at: time)
                    return [Span]()
                case .report(let report, let time): return ended(report, at: time)
                }
            }
        }
        if let context { deliveries[delivery]?.span.link(context) }
        deliveries[delivery]?.span.add(step.step.rawValue, at: time, reason: step.reason)
        switch step.step {
        case .joined, .left: return end(delivery, step.step.rawValue, reason: "", attempts: 0, at: time)
        default: return []
        }
    }

    private func open(
        _ delivery: DeliveryID,
        _ step: TraceStep,
        _ context: TraceContext,
        at time: Timestamp
    ) -> OpenDelivery {
        var span = Span(
            context,
            id: ids.span(of: delivery),
            parent: context.root,
            name: "delivery",
            kind: .producer,
            start: time
        )
        span.set("carillon.delivery", delivery.description)
        if let device = step.device { span.set("carillon.device", device.rawValue) }
        return OpenDelivery(context: context, span: span)
    }

    /// Records attempts that were passed to transports.
    mutating func began(_ attempts: [AttemptStart], at time: Timestamp) {
        for attempt in attempts {
            if deliveries[attempt.delivery] == nil {
                remember(.began(attempt: attempt.attempt, time), of: attempt.delivery)
            } else {
                began(attempt.delivery, attempt.attempt, at: time)
            }
        }
    }

    private mutating func began(_ delivery: DeliveryID, _ attempt: Int, at time: Timestamp) {
        guard let open = deliveries[delivery], attempt > open.ended else { return }
        deliveries[delivery]?.attempts[attempt] = time
    }

    /// Takes decisions about deliveries; returns the spans that ended with them.
    mutating func ended(_ reports: [DeliveryReport], at time: Timestamp) -> [Span] {
        reports.flatMap { report in
            guard deliveries[report.delivery] != nil else {
                remember(.report(report, time), of: report.delivery)
                return [Span]()
            }
            return ended(report, at: time)
        }
    }

    private mutating func ended(_ report: DeliveryReport, at time: Timestamp) -> [Span] {
        guard var open = deliveries[report.delivery] else { return [] }
        var finished: [Span] = []
        switch report.kind {
        case .delivered, .gone, .rejected, .retry, .reduced, .misconfigured:
            if report.attempt > 0 { finished.append(attempt(report, of: &open, at: time)) }
        case .postponed, .requeued, .expired, .unregistered, .moved, .unreadable, .discarded, .deleted:
            open.span.add(report.kind.rawValue, at: time, reason: report.reason)
        }
        deliveries[report.delivery] = open
        guard report.kind.isFinal, report.kind != .moved else { return finished }
        deliveries[report.delivery]?.span.set("carillon.platform", report.queue.platform)
        deliveries[report.delivery]?.span.set("carillon.app", report.queue.app)
        let word = report.kind.rawValue
        return finished + end(report.delivery, word, reason: report.reason, attempts: report.attempt, at: time)
    }

    private func attempt(_ report: DeliveryReport, of open: inout OpenDelivery, at time: Timestamp) -> Span {
        var span = Span(
            open.context,
            id: ids.span(of: report.delivery, attempt: report.attempt),
            parent: open.span.id,
            name: "attempt",
            kind: .client,
            start: open.attempts.removeValue(forKey: report.attempt) ?? time
        )
        span.end = time
        open.ended = max(open.ended, report.attempt)
        span.set("carillon.attempt", Int64(report.attempt))
        span.set("carillon.platform", report.queue.platform)
        span.set("carillon.app", report.queue.app)
        span.set("carillon.outcome", report.kind.rawValue)
        if !report.reason.isEmpty { span.set("carillon.reason", report.reason) }
        if report.status > 0 { span.set("http.response.status_code", Int64(report.status)) }
        if report.kind != .delivered, report.kind != .reduced { span.failure = report.reason }
        return span
    }

    private mutating func end(
        _ delivery: DeliveryID,
        _ outcome: String,
        reason: String,
        attempts: Int,
        at time: Timestamp
    ) -> [Span] {
        guard var span = deliveries.removeValue(forKey: delivery)?.span else { return [] }
        span.end = time
        span.set("carillon.outcome", outcome)
        if !reason.isEmpty { span.set("carillon.reason", reason) }
        span.set("carillon.attempts", Int64(attempts))
        let isFailure = ["rejected", "expired", "unreadable"].contains(outcome)
        if isFailure { span.failure = reason.isEmpty ? outcome : reason }
        return [span]
    }

    private mutating func remember(_ news: News, of delivery: DeliveryID) {
        if unclaimed[delivery] == nil, let oldest = unclaimedOrder.insert(delivery) { unclaimed[oldest] = nil }
        unclaimed[delivery, default: []].append(news)
    }

    private mutating func takeUnclaimed(_ delivery: DeliveryID) -> [News] {
        unclaimed.removeValue(forKey: delivery) ?? []
    }
}

/// The last `limit` values.
private struct Recent<Value: Hashable> {
    private let limit: Int
    private var values: [Value] = []
    private var known: Set<Value> = []
    private var next = 0

    init(limit: Int) { self.limit = limit }

    func contains(_ value: Value) -> Bool { known.contains(value) }

    /// Returns the value that was evicted.
    @discardableResult
    mutating func insert(_ value: Value) -> Value? {
        guard known.insert(value).inserted else { return nil }
        guard values.count == limit else {
            values.append(value)
            return nil
        }
        let oldest = values[next]
        values[next] = value
        next = (next + 1) % limit
        known.remove(oldest)
        return oldest
    }
}

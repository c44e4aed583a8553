import Console
import Core
import Delivery
import Pipeline
import Synchronization

/// Counters of the pipeline's stages and deliveries. Stages report in batches, so that no single event takes a lock.
package final class RouterCounts: PipelineObserver, DeliveryObserver {
    private let steps = Mutex<[PipelineStep: UInt64]>([:])
    /// Events that readers dropped early because they concern no registered account.
    private let passed = Atomic<UInt64>(0)
    /// Events that filters suppressed for a device, by filter name.
    private let spared = Mutex<[String: UInt64]>([:])
    private let leftOut = Mutex<[RuleValue: UInt64]>([:])
    private let deliveries = Mutex(DeliveryCounts())
    private let pauses = Mutex<[QueueName: [QueuePause.Cause: UInt64]]>([:])
    private let outboxFailures = Atomic<UInt64>(0)
    private let isOutboxFailing = Atomic<Bool>(false)
    private let unread = Atomic<UInt64>(0)
    private let now: @Sendable () -> Timestamp
    private let recent = Mutex(RecentFigures(start: .now()))

    /// The response times of submissions, by source.
    let socket = AtomicHistogram()
    let relays = AtomicHistogram()
    let feed = AtomicHistogram()

    package init(now: @escaping @Sendable () -> Timestamp) {
        self.now = now
    }

    /// Whether the latest write to the outbox failed.
    var isOutboxUnwritable: Bool { isOutboxFailing.load(ordering: .relaxed) }

    /// Records whether a write to the outbox succeeded.
    package func kept(_ isKept: Bool) {
        isOutboxFailing.store(!isKept, ordering: .relaxed)
        if !isKept { outboxFailures.wrappingAdd(1, ordering: .relaxed) }
    }

    /// Counts how often events of a relay may have been missed.
    package func couldNotRead(_ times: Int) { unread.wrappingAdd(UInt64(max(0, times)), ordering: .relaxed) }

    package func answered(_ source: EventSource, _ events: Int, _ nanoseconds: UInt64) {
        let histogram: AtomicHistogram? =
            switch source {
            case .socket: socket
            case .feed: feed
            case .relay: relays
            case .api: nil
            }
        histogram?.observe(nanoseconds: nanoseconds, times: UInt64(events))
    }

    /// Counts events that readers dropped early because they concern no registered account.
    package func passedOver(_ events: Int) {
        passed.wrappingAdd(UInt64(events), ordering: .relaxed)
        keepRecent()
    }

    package func record(_ counts: [PipelineStep: Int]) {
        steps.withLock { $0.merge(counts.mapValues(UInt64.init), uniquingKeysWith: +) }
        keepRecent()
    }

    private func keepRecent() {
        let now = Deadline.now()
        guard recent.withLock({ $0.wants(now: now) }) else { return }
        let totals = totals
        recent.withLock { $0.take(totals, now: now) }
    }

    /// All counts since the start.
    var totals: RecentFigures.Totals {
        var totals = RecentFigures.Totals()
        totals.events = steps.withLock { $0.values.reduce(0, +) } + passed.load(ordering: .relaxed)
        deliveries.withLock { deliveries in
            for (label, count) in deliveries.outcomes where label.kind == DeliveryReport.Kind.delivered.rawValue {
                totals.pushes += count
            }
            for ends in deliveries.ends.values { totals.ends.add(ends) }
        }
        return totals
    }

    /// Whether an event since the start mentioned another key than its author's.
    var hasSeenEvents: Bool {
        passed.load(ordering: .relaxed) > 0 || steps.withLock { steps in steps.keys.contains { !$0.isOfRegistration } }
    }

    /// The rates of the last minute.
    var rates: RecentFigures.Rates {
        let totals = totals
        return recent.withLock { $0.rates(totals, now: .now()) }
    }

    /// The number of events that each filter suppressed for a device.
    var droppedByFilter: [String: UInt64] { spared.withLock(\.self) }

    package func filtered(_ counts: [String: Int]) {
        spared.withLock { $0.merge(counts.mapValues(UInt64.init), uniquingKeysWith: +) }
    }

    package func leftOut(_ counts: [RuleValue: Int]) {
        leftOut.withLock { $0.merge(counts.mapValues(UInt64.init), uniquingKeysWith: +) }
    }

    package func deliveriesReported(_ reports: [DeliveryReport]) {
        let now = now()
        deliveries.withLock { $0.add(reports, now: now) }
        keepRecent()
    }

    package func attemptsBegan(_ attempts: [AttemptStart]) {
        deliveries.withLock { $0.add(attempts) }
    }

    package func queuePaused(_ pause: QueuePause) {
        pauses.withLock { $0[pause.queue, default: [:]][pause.cause, default: 0] += 1 }
    }

    package func outboxFailed(_ error: any Error) { kept(false) }

    package func outboxRecovered() { kept(true) }

    /// All counters as metrics.
    var families: [MetricFamily] {
        let (deliveries, pauses) = (deliveries.withLock { $0 }, pauses.withLock { $0 })
        var steps = steps.withLock { $0 }
        steps[.unaddressed, default: 0] += passed.load(ordering: .relaxed)
        let events = MetricFamily.counter(
            "carillon_events_total",
            "Events by their last step.",
            of: PipelineStep.allCases
        ) { $0.add(steps[$1] ?? 0, ["step": $1.rawValue]) }
        var answers = MetricFamily(
            "carillon_event_answer_seconds",
            .histogram,
            "Seconds from an event's arrival until its deliveries are on disk and it is acknowledged, by source. Without "
                + "events that readers drop early."
        )
        for (source, histogram) in [("socket", socket), ("relay", relays), ("feed", feed)] {
            answers.add(histogram.snapshot, ["source": source])
        }
        let paused = MetricFamily.counter(
            "carillon_queue_pauses_total",
            "Pauses of queues, by cause.",
            of: pauses.sorted { $0.key < $1.key }
        ) { family, pauses in
            let (platform, app) = (pauses.key.platform, pauses.key.app)
            for cause in QueuePause.Cause.allCases {
                family.add(pauses.value[cause] ?? 0, ["platform": platform, "app": app, "cause": "\(cause)"])
            }
        }
        let failures = MetricFamily.counter(
            "carillon_outbox_failures_total",
            "Failed writes to the outbox.",
            of: [outboxFailures.load(ordering: .relaxed)]
        ) { $0.add($1) }
        let unread = MetricFamily.counter(
            "carillon_relay_history_gaps_total",
            "How often relay events may have been missed: seconds with more events than a relay returns, "
                + "reads abandoned for their length, and messages over the size limit.",
            of: [self.unread.load(ordering: .relaxed)]
        ) { $0.add($1) }
        let values = MetricFamily.counter(
            "carillon_rule_values_omitted_total",
            "Rule values that were invalid for their key, so the push omitted them or was not sent.",
            of: leftOut.withLock(\.self).sorted { ($0.key.rule, $0.key.key) < ($1.key.rule, $1.key.key) }
        ) { $0.add($1.value, ["rule": $1.key.rule, "key": $1.key.key]) }
        return [events, answers, values, unread] + deliveries.families + [paused, failures]
    }

    /// The counters of the filters. The filters in `names` are present from the start.
    func filters(_ names: [String]) -> MetricFamily {
        let spared = spared.withLock { $0 }
        return .counter(
            "carillon_filtered_total",
            "Events that a filter suppressed for a device, by the filter's name in the configuration.",
            of: Set(names).union(spared.keys).sorted()
        ) { $0.add(spared[$1] ?? 0, ["filter": $1]) }
    }
}

extension PipelineStep {
    /// Whether the step is part of a device's registration.
    fileprivate var isOfRegistration: Bool {
        switch self {
        case .malformed, .forged, .duplicate, .registered, .registrationRefused, .noSession, .learned, .listRefused,
            .deleted, .request, .fetched:
            true
        default: false
        }
    }
}

/// Delivery counts for metrics. The number of labels is bounded; the rest count as `other`.
struct DeliveryCounts {
    struct Label: Hashable, Comparable {
        var queue: QueueName
        var kind: String
        var reason: String

        static func < (left: Self, right: Self) -> Bool {
            (left.queue.platform, left.queue.app, left.kind, left.reason)
                < (right.queue.platform, right.queue.app, right.kind, right.reason)
        }
    }

    /// The maximum number of labels in all queues; each adds a line to every scrape.
    private static let maxLabels = 2_000

    private(set) var outcomes: [Label: UInt64] = [:]
    private(set) var attempts: [QueueName: UInt64] = [:]
    /// The time from acceptance to the first attempt, by platform.
    private(set) var firstAttempts: [String: Histogram] = [:]
    /// The time from acceptance to the final result, by platform.
    private(set) var ends: [String: Histogram] = [:]

    var families: [MetricFamily] {
        let outcomes = MetricFamily.counter(
            "carillon_deliveries_total",
            "Delivery results, including attempts that will be retried, by reason.",
            of: outcomes.sorted { $0.key < $1.key }
        ) { family, outcome in
            let (queue, label) = (outcome.key.queue, outcome.key)
            family.add(
                outcome.value,
                ["platform": queue.platform, "app": queue.app, "kind": label.kind, "reason": label.reason]
            )
        }
        let attempts = MetricFamily.counter(
            "carillon_attempts_total",
            "Attempts passed to transports.",
            of: attempts.sorted { $0.key < $1.key }
        ) { $0.add($1.value, $1.key.labels) }
        func histogram(_ name: String, _ help: String, _ histograms: [String: Histogram]) -> MetricFamily {
            histograms.sorted { $0.key < $1.key }.reduce(into: MetricFamily(name, .histogram, help)) {
                $0.add($1.value, ["platform": $1.key])
            }
        }
        return [
            outcomes, attempts,
            histogram(
                "carillon_first_attempt_seconds",
                "Seconds from a delivery's acceptance to its first attempt.",
                firstAttempts
            ),
            histogram("carillon_delivery_seconds", "Seconds from a delivery's acceptance to its final result.", ends),
        ]
    }

    /// Hashing a label means hashing four strings. Runs of equal reports in a batch therefore share one look-up.
    mutating func add(_ reports: [DeliveryReport], now: Timestamp) {
        let rows = reports.rows {
            reports[$0].kind == reports[$1].kind && reports[$0].queue == reports[$1].queue
                && reports[$0].reason == reports[$1].reason
        }
        for row in rows {
            let (queue, kind) = (reports[row.lowerBound].queue, reports[row.lowerBound].kind)
            var label = Label(queue: queue, kind: kind.rawValue, reason: reports[row.lowerBound].reason)
            if outcomes[label] == nil, outcomes.count >= Self.maxLabels { label.reason = "other" }
            outcomes[label, default: 0] += UInt64(row.count)
            guard kind.isFinal, row.contains(where: { reports[$0].acceptedAt != nil }) else { continue }
            Self.observe(row, in: &ends[queue.platform, default: .seconds]) { place in
                reports[place].acceptedAt.map { now - $0 }
            }
        }
    }

    /// Adds the durations of a run of reports to a histogram with one look-up.
    private static func observe(
        _ places: Range<Int>,
        in histogram: inout Histogram,
        _ span: (Int) -> Duration?
    ) {
        for place in places {
            if let span = span(place) { histogram.observe(span / .seconds(1)) }
        }
    }

    mutating func add(_ starts: [AttemptStart]) {
        for row in starts.rows(where: { starts[$0].queue == starts[$1].queue }) {
            let queue = starts[row.lowerBound].queue
            attempts[queue, default: 0] += UInt64(row.count)
            guard row.contains(where: { starts[$0].attempt == 1 }) else { continue }
            Self.observe(row, in: &firstAttempts[queue.platform, default: .seconds]) { place in
                starts[place].attempt == 1 ? starts[place].age : nil
            }
        }
    }
}

/// Rates of the last minute, computed from counters that only grow. Pure: the caller supplies the totals periodically.
struct RecentFigures: Sendable {
    /// Everything counted since the start.
    struct Totals: Sendable, Equatable {
        var events: UInt64 = 0
        /// Deliveries that a push service accepted.
        var pushes: UInt64 = 0
        /// The time from acceptance to the final result of deliveries, in seconds.
        var ends = Histogram.seconds
    }

    /// The rates of a period.
    struct Rates: Sendable, Equatable {
        var eventsPerSecond = 0.0
        var pushesPerSecond = 0.0
        /// `nil` if no delivery ended.
        var median: Duration?
        var slowest: Duration?
    }

    private struct Sample: Sendable {
        let at: Deadline
        let totals: Totals
    }

    private static let span: Duration = .minutes(1)
    private static let step: Duration = .seconds(10)

    /// Oldest first, at least one step apart. The first is a full span old, or is the start.
    private var samples: [Sample]

    init(start: Deadline) {
        samples = [Sample(at: start, totals: Totals())]
    }

    /// Whether new totals are due.
    func wants(now: Deadline) -> Bool { samples.last.map { now - $0.at >= Self.step } ?? true }

    mutating func take(_ totals: Totals, now: Deadline) {
        samples.append(Sample(at: now, totals: totals))
        while samples.count > 1, now - samples[1].at >= Self.span { samples.removeFirst() }
    }

    /// Returns the rates of about the last minute, or since the start if that is shorter.
    func rates(_ totals: Totals, now: Deadline) -> Rates {
        // Without recent samples, the last one is closest to a minute ago.
        let first = samples.last { now - $0.at >= Self.span } ?? samples[0]
        let seconds = max((now - first.at) / .seconds(1), 0.001)
        let ends = totals.ends.subtracting(first.totals.ends)
        return Rates(
            eventsPerSecond: Double(totals.events &- first.totals.events) / seconds,
            pushesPerSecond: Double(totals.pushes &- first.totals.pushes) / seconds,
            median: ends.quantile(0.5).map { .milliseconds(Int64($0 * 1000)) },
            slowest: ends.quantile(0.99).map { .milliseconds(Int64($0 * 1000)) }
        )
    }
}

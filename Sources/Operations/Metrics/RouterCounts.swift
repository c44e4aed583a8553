import Console
import Delivery
import Pipeline
import Synchronization
import Units

/// Counts what the stages report. They report in batches, so that no event costs a lock.
package final class RouterCounts: PipelineObserver, DeliveryObserver {
    private let steps = Mutex<[PipelineStep: UInt64]>([:])
    /// Events that concern nobody, as their readers found out.
    private let passed = Atomic<UInt64>(0)
    /// By the filter's name.
    private let spared = Mutex<[String: UInt64]>([:])
    private let leftOut = Mutex<[RuleValue: UInt64]>([:])
    private let deliveries = Mutex(DeliveryCounts())
    private let pauses = Mutex<[QueueName: [QueuePause.Cause: UInt64]]>([:])
    private let outboxFailures = Atomic<UInt64>(0)
    private let isOutboxFailing = Atomic<Bool>(false)
    private let unread = Atomic<UInt64>(0)
    private let now: @Sendable () -> Timestamp
    private let recent = Mutex(RecentFigures(start: .now()))

    /// How long submissions waited for their answer, by source.
    let socket = AtomicHistogram()
    let relays = AtomicHistogram()
    let feed = AtomicHistogram()

    package init(now: @escaping @Sendable () -> Timestamp) {
        self.now = now
    }

    /// Whether the outbox refused the last thing that it was brought.
    var isOutboxUnwritable: Bool { isOutboxFailing.load(ordering: .relaxed) }

    /// How keeping deliveries ended.
    package func kept(_ isKept: Bool) {
        isOutboxFailing.store(!isKept, ordering: .relaxed)
        if !isKept { outboxFailures.wrappingAdd(1, ordering: .relaxed) }
    }

    /// So often events of a relay may not have been read.
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

    /// So many events concerned nobody, which was seen where they were read.
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

    /// Everything since the start.
    var totals: RecentFigures.Totals {
        var totals = RecentFigures.Totals()
        totals.events = steps.withLock { $0.values.reduce(0, +) } + passed.load(ordering: .relaxed)
        deliveries.withLock { deliveries in
            for (label, count) in deliveries.outcomes where label.kind == DeliveryReport.Kind.delivered.name {
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

    /// What the last minute brought.
    var rates: RecentFigures.Rates {
        let totals = totals
        return recent.withLock { $0.rates(totals, now: .now()) }
    }

    /// How often each filter spared a device an event.
    var sparedByFilter: [String: UInt64] { spared.withLock(\.self) }

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

    package func queueResumed(_ queue: QueueName) {}

    package func outboxFailed(_ error: any Error) { kept(false) }

    package func outboxRecovered() { kept(true) }

    /// All of that as metrics.
    var families: [MetricFamily] {
        let (deliveries, pauses) = (deliveries.withLock { $0 }, pauses.withLock { $0 })
        var steps = steps.withLock { $0 }
        steps[.unaddressed, default: 0] += passed.load(ordering: .relaxed)
        var events = MetricFamily("carillon_events_total", .counter, "Events by the step at which their way ended.")
        for step in PipelineStep.allCases { events.add(steps[step] ?? 0, ["step": step.rawValue]) }
        var answers = MetricFamily(
            "carillon_event_answer_seconds",
            .histogram,
            "From an event's arrival to its answer, which comes when everything that it wakes is kept, by source. Without "
                + "events that concern nobody where their reader saw that."
        )
        answers.add(socket.snapshot, ["source": "socket"])
        answers.add(relays.snapshot, ["source": "relay"])
        answers.add(feed.snapshot, ["source": "feed"])
        var paused = MetricFamily("carillon_queue_pauses_total", .counter, "Pauses of queues, by cause.")
        for (queue, causes) in pauses.sorted(by: { $0.key < $1.key }) {
            for cause in QueuePause.Cause.allCases {
                paused.add(
                    causes[cause] ?? 0,
                    ["platform": queue.platform, "app": queue.app, "cause": "\(cause)"]
                )
            }
        }
        var failures = MetricFamily("carillon_outbox_failures_total", .counter, "Failures of writing the outbox.")
        failures.add(outboxFailures.load(ordering: .relaxed))
        var unread = MetricFamily(
            "carillon_relay_unread_total",
            .counter,
            "How often events of relays may not have been read: seconds of which a relay holds more than it gives out, "
                + "readings given up for their length, and messages over the size limit."
        )
        unread.add(self.unread.load(ordering: .relaxed))
        var values = MetricFamily(
            "carillon_rule_values_left_out_total",
            .counter,
            "Values of rules that came out unfit for their key: the push went without, or was not sent."
        )
        for (value, count) in leftOut.withLock(\.self).sorted(by: {
            ($0.key.rule, $0.key.key) < ($1.key.rule, $1.key.key)
        }) {
            values.add(count, ["rule": value.rule, "key": value.key])
        }
        return [events, answers, values, unread] + Self.families(deliveries) + [paused, failures]
    }

    /// What filters did; those of `names` are there from the start.
    func filters(_ names: [String]) -> MetricFamily {
        var family = MetricFamily(
            "carillon_filtered_total",
            .counter,
            "How often a filter spared a device an event, by the filter's name in the configuration."
        )
        let spared = spared.withLock { $0 }
        for name in Set(names).union(spared.keys).sorted() { family.add(spared[name] ?? 0, ["filter": name]) }
        return family
    }

    private static func families(_ counts: DeliveryCounts) -> [MetricFamily] {
        var outcomes = MetricFamily(
            "carillon_deliveries_total",
            .counter,
            "What became of deliveries: ends, and attempts that others follow, by what the push service or we said."
        )
        for (label, count) in counts.outcomes.sorted(by: { $0.key < $1.key }) {
            outcomes.add(
                count,
                [
                    "platform": label.queue.platform, "app": label.queue.app, "kind": label.kind,
                    "reason": label.reason,
                ]
            )
        }
        var attempts = MetricFamily("carillon_attempts_total", .counter, "Attempts handed to transports.")
        for (queue, count) in counts.attempts.sorted(by: { $0.key < $1.key }) {
            attempts.add(count, ["platform": queue.platform, "app": queue.app])
        }
        var first = MetricFamily(
            "carillon_first_attempt_seconds",
            .histogram,
            "From a delivery's acceptance to its first attempt."
        )
        for (platform, histogram) in counts.firstAttempts.sorted(by: { $0.key < $1.key }) {
            first.add(histogram, ["platform": platform])
        }
        var ends = MetricFamily(
            "carillon_delivery_seconds",
            .histogram,
            "From a delivery's acceptance to its end, whatever that was."
        )
        for (platform, histogram) in counts.ends.sorted(by: { $0.key < $1.key }) {
            ends.add(histogram, ["platform": platform])
        }
        return [outcomes, attempts, first, ends]
    }
}

extension PipelineStep {
    /// Whether registering a device goes no further than that.
    fileprivate var isOfRegistration: Bool {
        switch self {
        case .malformed, .forged, .duplicate, .registered, .registrationRefused, .noSession, .learned, .listRefused,
            .deleted, .request, .fetched:
            true
        default: false
        }
    }
}

extension QueueName {
    static func < (left: QueueName, right: QueueName) -> Bool {
        (left.platform, left.app) < (right.platform, right.app)
    }
}

/// What became of deliveries, counted for metrics. What labels can be is bounded: what exceeds that counts as `other`.
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

    /// Reasons of all queues together; each costs a line in every scrape.
    private static let mostLabels = 2_000

    private(set) var outcomes: [Label: UInt64] = [:]
    private(set) var attempts: [QueueName: UInt64] = [:]
    /// From acceptance to the first attempt, by platform.
    private(set) var firstAttempts: [String: Histogram] = [:]
    /// From acceptance to the end, by platform.
    private(set) var ends: [String: Histogram] = [:]

    /// Most reports of a batch are alike: a row of them is one look-up of its label, which is four texts to hash.
    mutating func add(_ reports: [DeliveryReport], now: Timestamp) {
        let rows = reports.rows {
            reports[$0].kind == reports[$1].kind && reports[$0].queue == reports[$1].queue
                && reports[$0].reason == reports[$1].reason
        }
        for row in rows {
            let (queue, kind) = (reports[row.lowerBound].queue, reports[row.lowerBound].kind)
            var label = Label(queue: queue, kind: kind.name, reason: reports[row.lowerBound].reason)
            if outcomes[label] == nil, outcomes.count >= Self.mostLabels { label.reason = "other" }
            outcomes[label, default: 0] += UInt64(row.count)
            guard kind.isFinal, row.contains(where: { reports[$0].acceptedAt != nil }) else { continue }
            Self.observe(row, in: &ends[queue.platform, default: .seconds]) { place in
                reports[place].acceptedAt.map { now - $0 }
            }
        }
    }

    /// Puts the spans of a row into a histogram, which is looked up once for all of them.
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

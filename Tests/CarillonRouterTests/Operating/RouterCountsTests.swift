import Console
import Core
import Delivery
import DeliveryTestSupport
import Pipeline
import Push
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import Operations

@Suite struct RouterCountsTests {
    private static let ios = QueueName(platform: "ios", app: "default")
    private let counts = RouterCounts(now: { 10_000 })

    private func report(_ kind: DeliveryReport.Kind, _ reason: String, acceptedAt: Timestamp? = 9_000) -> DeliveryReport
    {
        DeliveryReport(
            delivery: "",
            device: DeviceID(rawValue: 1),
            queue: Self.ios,
            kind: kind,
            reason: reason,
            attempt: 1,
            acceptedAt: acceptedAt
        )
    }

    private var text: String { Exposition.text(of: counts.families) }

    @Test func everyStepIsThereFromTheStart() {
        for step in PipelineStep.allCases {
            #expect(text.contains("carillon_events_total{step=\"\(step.rawValue)\"} 0\n"))
        }
    }

    @Test func countsByPlatformAppKindAndReason() {
        counts.record([.queued: 3, .dropped: 1])
        counts.record([.queued: 2])
        counts.deliveriesReported([
            report(.delivered, "ok"), report(.delivered, "ok"), report(.retry, "timeout"),
            report(.unreadable, "x", acceptedAt: nil),
        ])
        counts.attemptsBegan([
            AttemptStart(delivery: "d", queue: Self.ios, attempt: 1, age: .milliseconds(20)),
            AttemptStart(delivery: "d", queue: Self.ios, attempt: 2, age: .seconds(9)),
        ])
        counts.queuePaused(QueuePause(queue: Self.ios, until: 1, reason: "x"))
        let labels = "platform=\"ios\",app=\"default\""
        for line in [
            "carillon_events_total{step=\"queued\"} 5", "carillon_events_total{step=\"dropped\"} 1",
            "carillon_deliveries_total{\(labels),kind=\"delivered\",reason=\"ok\"} 2",
            "carillon_deliveries_total{\(labels),kind=\"retry\",reason=\"timeout\"} 1",
            "carillon_attempts_total{\(labels)} 2",
            "carillon_first_attempt_seconds_count{platform=\"ios\"} 1",
            // Only deliveries that have ended and have a known start.
            "carillon_delivery_seconds_sum{platform=\"ios\"} 2",
            "carillon_delivery_seconds_count{platform=\"ios\"} 2",
            "carillon_queue_pauses_total{\(labels),cause=\"misconfigured\"} 1",
        ] { #expect(text.contains(line + "\n"), "\(line)") }
    }

    @Test func valuesOmittedByRulesAreCounted() {
        counts.leftOut([RuleValue(rule: "note", key: "apns.relevance-score"): 2])
        counts.leftOut([RuleValue(rule: "note", key: "apns.relevance-score"): 1])
        let line = "carillon_rule_values_omitted_total{rule=\"note\",key=\"apns.relevance-score\"} 3\n"
        #expect(text.contains(line))
    }

    @Test func filterVerdictsAreCounted() {
        counts.filtered(["mutes": 2])
        counts.filtered(["mutes": 1, "removed": 1])
        let text = Exposition.text(of: [counts.filters(["noise", "mutes"])])
        for (name, count) in [("mutes", 3), ("noise", 0), ("removed", 1)] {
            #expect(text.contains("carillon_filtered_total{filter=\"\(name)\"} \(count)\n"))
        }
    }

    @Test func excessReasonsAreCountedAsOther() {
        counts.deliveriesReported((0..<3_000).map { report(.rejected, "reason-\($0)") })
        #expect(text.split(separator: "\n").count { $0.hasPrefix("carillon_deliveries_total{") } == 2_001)
        #expect(text.contains("kind=\"rejected\",reason=\"other\"} 1000\n"))
    }

    @Test func answersCountBySourceAndByEvents() {
        counts.answered(.socket(authenticated: []), 1, 2_000_000)
        counts.answered(.relay(.live), 3, 40_000_000)
        #expect(text.contains("carillon_event_answer_seconds_bucket{source=\"socket\",le=\"0.0025\"} 1\n"))
        #expect(text.contains("carillon_event_answer_seconds_count{source=\"relay\"} 3\n"))
        #expect(text.contains("carillon_event_answer_seconds_sum{source=\"relay\"} 0.12\n"))
    }

    @Test func fullOutboxIsReported() {
        struct Full: Error {}
        #expect(!counts.isOutboxUnwritable)
        counts.outboxFailed(Full())
        #expect(counts.isOutboxUnwritable && text.contains("carillon_outbox_failures_total 1\n"))
        counts.outboxRecovered()
        #expect(!counts.isOutboxUnwritable)
    }

    @Test func registrationsDoNotCountAsEvents() {
        #expect(!counts.hasSeenEvents)
        counts.record([.registered: 2, .learned: 1, .duplicate: 1])
        #expect(!counts.hasSeenEvents)
        counts.record([.unaddressed: 1])
        #expect(counts.hasSeenEvents)
    }
}

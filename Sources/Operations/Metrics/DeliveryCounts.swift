import Console
import Delivery

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

    /// `now` is in milliseconds since 1970.
    mutating func add(_ reports: [DeliveryReport], now: Int64) {
        for report in reports {
            var label = Label(queue: report.queue, kind: report.kind.name, reason: report.reason)
            if outcomes[label] == nil, outcomes.count >= Self.mostLabels { label.reason = "other" }
            outcomes[label, default: 0] += 1
            guard report.kind.isFinal, let acceptedAt = report.acceptedAt else { continue }
            ends[report.queue.platform, default: .seconds].observe(Double(now - acceptedAt) / 1_000)
        }
    }

    mutating func add(_ starts: [AttemptStart]) {
        for start in starts {
            attempts[start.queue, default: 0] += 1
            guard start.attempt == 1 else { continue }
            firstAttempts[start.queue.platform, default: .seconds].observe(Double(start.age) / 1_000)
        }
    }
}

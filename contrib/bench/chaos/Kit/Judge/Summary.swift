import Delivery
import Notifications

/// A run in figures, a row for each transport.
package struct Summary: Sendable, Codable {
    package struct Row: Sendable, Codable {
        package var transport: ChaosTransport
        package var deliveries = 0
        /// The courier's.
        package var attempts = 0
        /// As the lab saw them; lanes resend by themselves what was provably not processed.
        package var requests = 0
        package var resent = 0
        package var delivered = 0
        /// With devices that had gone, those that found nobody registered included.
        package var gone = 0
        /// Messages that came twice for certain, and those that may have.
        package var certainRepeats = 0
        package var possibleRepeats = 0
        package var repeats: [String: Int] = [:]
        package var injected: [String: Int] = [:]
        /// How attempts ended, in the plugins' words.
        package var outcomes: [String: Int] = [:]
        package var seconds = 0.0
        /// The phases and their lengths in requests.
        package var script = ""

        /// Deliveries a second.
        package var rate: Double { seconds > 0 ? Double(deliveries) / seconds : 0 }
    }

    package var seed: UInt64
    package var rows: [Row]
    package var tokenRequests: Int
    package var tokenMischiefs: Int
    /// Times a queue was paused for its credentials, and because its push service asked for it.
    package var misconfigurations: Int
    package var requestedPauses: Int
    package var failures: [Verdict.Failure]

    package init(_ record: ChaosRecord, _ verdict: Verdict) {
        let evidence = Evidence(record)
        seed = record.plan.seed
        tokenRequests = record.tokenRequests
        tokenMischiefs = record.tokenMischiefs
        misconfigurations = record.journal.misconfigurations
        requestedPauses = record.journal.requestedPauses
        failures = verdict.failures
        rows = record.plan.transports.map { transport in
            var row = Row(transport: transport)
            for (index, course) in evidence.courses.enumerated()
            where evidence.device(of: index)?.transport == transport {
                row.deliveries += 1
                row.attempts += course.attempts.count
                for attempt in course.attempts {
                    let outcome = record.journal.attempts[attempt].outcome
                    row.outcomes[outcome.map { "\($0.kind) \($0.reason)" } ?? "none", default: 0] += 1
                }
                row.resent += course.sendings.reduce(0) { $0 + max(0, evidence.arrivals[$1].count - 1) }
                switch evidence.end(index)?.kind {
                case .delivered: row.delivered += 1
                case .gone, .unregistered: row.gone += 1
                default: break
                }
            }
            row.requests = record.arrivals.count { $0.transport == transport }
            for repetition in verdict.repeats where repetition.transport == transport {
                row.certainRepeats += repetition.isCertain ? 1 : 0
                row.possibleRepeats += repetition.isCertain ? 0 : 1
                row.repeats[repetition.cause.rawValue, default: 0] += 1
            }
            for (mischief, count) in record.injected[transport] ?? [:] { row.injected[mischief.rawValue] = count }
            row.seconds = record.seconds[transport] ?? 0
            row.script = record.scripts[transport]?.description ?? ""
            return row
        }
    }
}

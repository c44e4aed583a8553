import Delivery
import Foundation
import Push

/// A run in figures, a row for each transport.
package struct Summary: Sendable, Codable {
    package struct Row: Sendable, Codable {
        package var transport: ChaosTransport
        package var deliveries = 0
        /// The courier's.
        package var attempts = 0
        /// As the lab saw them; lanes resend provably unprocessed requests automatically.
        package var requests = 0
        package var resent = 0
        package var delivered = 0
        /// Deliveries to devices that had gone, including those without a registration.
        package var gone = 0
        /// Messages that certainly came twice, and those that may have.
        package var certainRepeats = 0
        package var possibleRepeats = 0
        package var repeats: [String: Int] = [:]
        package var injected: [String: Int] = [:]
        /// How attempts ended, in the plugins' words.
        package var outcomes: [String: Int] = [:]
        package var seconds = 0.0
        /// The phases and their lengths in requests.
        package var script = ""

        /// Deliveries per second.
        package var rate: Double { seconds > 0 ? Double(deliveries) / seconds : 0 }
    }

    package var seed: UInt64
    package var rows: [Row]
    package var tokenRequests: Int
    package var tokenMischiefs: Int
    /// Pauses of queues for their credentials, and at their push service's request.
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

extension Summary {
    private static let longestList = 10

    /// The tables, for people.
    package var text: String {
        var lines = ["seed \(seed)"]
        lines += table(
            [
                "", "deliveries", "attempts", "requests", "resent", "delivered", "gone", "repeats", "perhaps", "s",
                "per s",
            ],
            rows.map { row in
                [
                    row.transport.rawValue, "\(row.deliveries)", "\(row.attempts)", "\(row.requests)", "\(row.resent)",
                    "\(row.delivered)", "\(row.gone)", "\(row.certainRepeats)", "\(row.possibleRepeats)",
                    String(format: "%.1f", row.seconds), String(format: "%.0f", row.rate),
                ]
            }
        )
        lines += counts("repeats after", RepeatCause.allCases.map(\.rawValue), \.repeats)
        lines += counts("injected", Mischief.allCases.map(\.rawValue), \.injected)
        lines += counts("attempts", Set(rows.flatMap(\.outcomes.keys)).sorted(), \.outcomes)
        lines.append("")
        lines.append(
            "\(tokenRequests) requests for access tokens, \(tokenMischiefs) of them went wrong; queues paused "
                + "\(misconfigurations) times for credentials and \(requestedPauses) times because they were asked to"
        )
        for row in rows where !row.script.isEmpty {
            lines.append("phases of \(row.transport.rawValue), in requests: \(row.script)")
        }
        return lines.joined(separator: "\n")
    }

    /// The first few failures of each proof.
    package var complaints: String {
        Verdict.Proof.allCases.flatMap { proof in
            let failed = failures.filter { $0.proof == proof }
            guard !failed.isEmpty else { return ["proved: \(proof.rawValue)"] }
            let rest = failed.count - Self.longestList
            return ["NOT PROVED: \(proof.rawValue)"] + failed.prefix(Self.longestList).map { "    \($0.text)" }
                + (rest > 0 ? ["    and \(rest) more"] : [])
        }.joined(separator: "\n")
    }

    /// A column for each transport, a line for each word that happened at all.
    private func counts(_ title: String, _ words: [String], _ counts: Swift.KeyPath<Row, [String: Int]>) -> [String] {
        let happened = words.filter { word in rows.contains { ($0[keyPath: counts][word] ?? 0) > 0 } }
        guard !happened.isEmpty else { return [] }
        return [""]
            + table(
                [title] + rows.map(\.transport.rawValue),
                happened.map { word in [word] + rows.map { "\($0[keyPath: counts][word] ?? 0)" } }
            )
    }

    /// The first column to the left, all others to the right.
    private func table(_ head: [String], _ rows: [[String]]) -> [String] {
        let all = [head] + rows
        let widths = head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            row.enumerated().map { column, text in
                let blanks = String(repeating: " ", count: widths[column] - text.count)
                return column == 0 ? text + blanks : blanks + text
            }.joined(separator: "  ")
        }
    }
}

import Foundation

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

    /// What failed, the first few of each proof.
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
    private func counts(_ title: String, _ words: [String], _ counts: KeyPath<Row, [String: Int]>) -> [String] {
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

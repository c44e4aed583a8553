/// What a conformance test came to: all its results, and how it ended.
package struct ConformanceReport: Sendable, Hashable, Codable {
    /// How the process that ran the checks ended.
    package enum Ending: Sendable, Hashable, Codable {
        /// All checks ran.
        case complete
        /// The plugin took the process along with this signal.
        case crashed(signal: Int32)
        /// The process left before the last check; plugins must not call `exit`.
        case exited(status: Int32)
        /// Nothing happened for that many milliseconds.
        case hung(milliseconds: Int)
    }

    package var path: String
    package var results: [CheckResult]
    package var ending: Ending

    package init(path: String, results: [CheckResult] = [], ending: Ending = .complete) {
        self.path = path
        self.results = results
        self.ending = ending
    }

    /// Nothing failed, and all checks ran.
    package var isPassed: Bool { ending == .complete && failures.isEmpty && !results.isEmpty }

    /// What failed, in order.
    package var failures: [CheckResult] { results.filter { $0.verdict == .failed } }
}

extension ConformanceReport: CustomStringConvertible {
    /// Several lines for people: a line for each check, its reason under it, and a summary at the end.
    package var description: String {
        var lines = results.map(\.description)
        let count = { verdict in results.count { $0.verdict == verdict } }
        lines.append(
            "\(path): \(count(.passed)) passed, \(count(.failed)) failed, \(count(.skipped)) skipped"
                + (ending == .complete ? "" : "; the checks did not run to their end")
        )
        return lines.joined(separator: "\n")
    }
}

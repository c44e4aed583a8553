import Units

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
        /// Nothing happened for so long.
        case hung(Duration)
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

    /// Takes over what another process found out. A check that was known is known better now.
    mutating func add(_ part: ConformanceReport) {
        for result in part.results {
            if let known = results.firstIndex(where: { $0.isOf(result.check, result.platform) }) {
                results[known] = result
            } else {
                results.append(result)
            }
        }
        ending = part.ending
    }

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

/// What one check came to.
package struct CheckResult: Sendable, Hashable, Codable {
    package enum Verdict: String, Sendable, Hashable, Codable {
        case passed
        case failed
        case skipped
    }

    package var check: ConformanceCheck
    /// The transport that was checked, or `filter NAME`; nil when it was the library.
    package var platform: String?
    package var verdict: Verdict
    /// Why it failed or was skipped, meant for the plugin's author; a remark, or empty, when it passed.
    package var text: String

    package init(_ check: ConformanceCheck, platform: String? = nil, _ verdict: Verdict, _ text: String = "") {
        self.check = check
        self.platform = platform
        self.verdict = verdict
        self.text = text
    }
}

extension CheckResult {
    func isOf(_ check: ConformanceCheck, _ platform: String?) -> Bool {
        self.check == check && self.platform == platform
    }
}

extension EarlierCheck {
    func isOf(_ check: ConformanceCheck, _ platform: String?) -> Bool {
        self.check == check && self.platform == platform
    }
}

extension CheckResult: CustomStringConvertible {
    /// One line for people.
    package var description: String {
        let owner = platform.map { "\($0): " } ?? ""
        let line = "\(verdict.rawValue)  \(owner)\(check.title) (\(check.rawValue))"
        return text.isEmpty ? line : "\(line)\n        \(text.replacing("\n", with: "\n        "))"
    }
}

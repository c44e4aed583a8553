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

extension CheckResult: CustomStringConvertible {
    /// One line for people.
    package var description: String {
        let owner = platform.map { "\($0): " } ?? ""
        let line = "\(verdict.rawValue)  \(owner)\(check.title) (\(check.rawValue))"
        return text.isEmpty ? line : "\(line)\n        \(text)"
    }
}

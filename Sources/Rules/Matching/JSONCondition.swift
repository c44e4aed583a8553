import JSON
import Nostr

/// What has to be true of a field of content that is JSON.
struct JSONCondition: Sendable {
    enum Test: Sendable {
        /// It is a text or a number for which this holds.
        case value(ValueTest)
        /// It is `true`, or `false`.
        case flag(Bool)
    }

    let path: JSONPath
    let test: Test

    var pattern: PatternCondition? {
        if case .value(let test) = test { test.pattern } else { nil }
    }

    func holds(for question: borrowing RuleQuestion) -> Bool {
        guard let value = question.facts.json?[path] else { return false }
        switch (test, value) {
        case (.flag(let wanted), .bool(let flag)): return flag == wanted
        case (.value(.matches(let pattern)), .string(let text)), (.value(.matches(let pattern)), .number(let text)):
            return pattern.holds(for: question.event) { [text] }
        // JSON knows more ways to write a number than tags do.
        case (.value(.within(let range)), .number(let digits)): return Double(digits).map(range.contains) ?? false
        case (.value(let test), .string(let text)), (.value(let test), .number(let text)):
            return test.holdsWithoutPattern(for: text)
        default: return false
        }
    }
}

import JSON
import Nostr
import Storage
import Synchronization

/// A condition on an event's content, on its tags of one name, or on a field of JSON content.
enum ValueCondition: Sendable {
    case content(ValueTest)
    case tag(TagCondition)
    case json(JSONCondition)

    /// The pattern to match, which is expensive.
    var pattern: PatternCondition? {
        switch self {
        case .content(let test): test.pattern
        case .tag(let condition): condition.pattern
        case .json(let condition): condition.pattern
        }
    }

    func holds(for question: borrowing RuleQuestion) -> Bool {
        switch self {
        case .content(.matches(let pattern)):
            pattern.holds(for: question.event) { [question.event.content] }
        case .content(let test): test.holdsWithoutPattern(for: question.event.content)
        case .tag(let condition): condition.holds(for: question)
        case .json(let condition): condition.holds(for: question)
        }
    }
}

/// A condition on one text of an event.
enum ValueTest: Sendable {
    case equals([String])
    /// It is a number within these bounds, both included.
    case within(ClosedRange<Double>)
    case matches(PatternCondition)

    /// The pattern to match, which is expensive.
    var pattern: PatternCondition? {
        if case .matches(let pattern) = self { pattern } else { nil }
    }

    /// Whether it holds for `text`. Patterns are matched elsewhere, for all texts of an event together.
    func holdsWithoutPattern(for text: String) -> Bool {
        switch self {
        case .equals(let texts): texts.contains(text)
        case .within(let range): NumericVariable.number(text).map(range.contains) ?? false
        case .matches: true
        }
    }
}

/// A condition on an event's tags of one name. It holds if all tests hold for the same tag.
struct TagCondition: Sendable {
    /// The values of a tag to test; one that passes is enough.
    enum Place: Sendable {
        /// The value at this position after the name, from 1.
        case at(Int)
        case any

        func values(of tag: [String]) -> ArraySlice<String> {
            switch self {
            case .at(let index): tag.count > index ? tag[index...index] : []
            case .any: tag.dropFirst()
            }
        }
    }

    private let name: String
    /// Whether there must be no such tag.
    private let isAbsent: Bool
    /// Whether the first value must be the recipient's key.
    private let namesRecipient: Bool
    private let tests: [(place: Place, test: ValueTest)]
    private let matching: (place: Place, pattern: PatternCondition)?

    /// Tests whether there is such a tag, with or without a value.
    init(_ name: String, isPresent: Bool) {
        self.name = name
        isAbsent = !isPresent
        namesRecipient = false
        tests = []
        matching = nil
    }

    /// At most one of `tests` may be a pattern, and none if it `namesRecipient`, because a pattern's result is cached
    /// for an event and all recipients.
    init(_ name: String, _ tests: [(place: Place, test: ValueTest)], namesRecipient: Bool = false) {
        self.name = name
        isAbsent = false
        self.namesRecipient = namesRecipient
        self.tests = tests.filter { $0.test.pattern == nil }
        matching = tests.lazy.compactMap { place, test in test.pattern.map { (place, $0) } }.first
    }

    var pattern: PatternCondition? { matching?.pattern }

    /// Whether it holds only for events without a tag of that name.
    func rulesOut(_ tag: String) -> Bool { isAbsent && name == tag }

    func holds(for question: borrowing RuleQuestion) -> Bool {
        let event = question.event
        if isAbsent { return !event.tags.contains { $0.first == name } }
        guard let (place, pattern) = matching else {
            let recipient = question.recipient
            return event.tags.contains { fits($0, recipient) }
        }
        return pattern.holds(for: event) { event.tags.lazy.filter { fits($0, nil) }.flatMap(place.values) }
    }

    private func fits(_ tag: [String], _ recipient: PublicKey?) -> Bool {
        guard tag.first == name else { return false }
        if namesRecipient {
            guard let recipient, tag.count > 1, PublicKey(hex: tag[1]) == recipient else { return false }
        }
        return tests.allSatisfy { place, test in
            place.values(of: tag).contains { test.holdsWithoutPattern(for: $0) }
        }
    }
}

/// A condition on a field of JSON content.
struct JSONCondition: Sendable {
    enum Test: Sendable {
        /// The field is a string or a number for which this holds.
        case value(ValueTest)
        /// The field is `true`, or `false`.
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
        // JSON allows more ways to write a number than tags do.
        case (.value(.within(let range)), .number(let digits)): return Double(digits).map(range.contains) ?? false
        case (.value(let test), .string(let text)), (.value(let test), .number(let text)):
            return test.holdsWithoutPattern(for: text)
        default: return false
        }
    }
}

/// A pattern that values of an event must match, with one budget for all of them.
///
/// Rules run for each device of each account that an event names. An expensive result is cached until another event has
/// an expensive one, so that each event costs that only once.
final class PatternCondition: Sendable {
    /// The cost that may be spent again for each device.
    private static let cheap = 2_000

    private struct Answer {
        /// The whole event, because the id of an unverified event proves nothing. Comparing an event with itself is
        /// fast.
        var event: Event
        var holds: Bool
    }

    private let pattern: Pattern
    private let dearAnswer = Mutex<Answer?>(nil)
    private let exceeded = Atomic<UInt64>(0)

    init(_ pattern: Pattern) {
        self.pattern = pattern
    }

    /// The number of events whose values exceeded the budget, so that the pattern did not match.
    var exceededCount: UInt64 { exceeded.load(ordering: .relaxed) }

    /// Whether any of `texts` matches. They must be the same for every call with one event.
    func holds(for event: Event, among texts: () -> some Sequence<String>) -> Bool {
        let known = dearAnswer.withLock { $0?.event == event ? $0?.holds : nil }
        if let known { return known }
        var budget = PatternBudget()
        let result = match(texts(), within: &budget)
        if result == .exceeded { exceeded.add(1, ordering: .relaxed) }
        let holds = result == .matches
        if PatternBudget.usual - budget.left > Self.cheap {
            dearAnswer.withLock { $0 = Answer(event: event, holds: holds) }
        }
        return holds
    }

    private func match(_ texts: some Sequence<String>, within budget: inout PatternBudget) -> Pattern.Outcome {
        for text in texts {
            let result = pattern.match(text, within: &budget)
            guard result == .differs else { return result }
        }
        return .differs
    }
}

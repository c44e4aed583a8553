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

    /// Whether it holds for `text`. Patterns are matched elsewhere, for all texts of an event at once.
    func holdsWithoutPattern(for text: String) -> Bool {
        switch self {
        case .equals(let texts): texts.contains(text)
        case .within(let range): NumericVariable.number(text).map(range.contains) ?? false
        case .matches: true
        }
    }
}

/// A condition on an event's tags of one name; it holds if all of it holds for one tag.
struct TagCondition: Sendable {
    /// Which values of a tag are meant; one that fits is enough.
    enum Place: Sendable {
        /// The one that stands so far behind the name, from 1.
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
    /// There is no such tag.
    private let isAbsent: Bool
    /// The first value is the recipient's key.
    private let namesRecipient: Bool
    private let tests: [(place: Place, test: ValueTest)]
    private let matching: (place: Place, pattern: PatternCondition)?

    /// Whether there is such a tag, with a value or without.
    init(_ name: String, isPresent: Bool) {
        self.name = name
        isAbsent = !isPresent
        namesRecipient = false
        tests = []
        matching = nil
    }

    /// At most one of `tests` is a pattern, and none where it `namesRecipient`: its answer is kept for an event,
    /// whoever is asked about.
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

/// A pattern that values of an event have to match, with one budget for all of them.
///
/// Rules are asked for each device of each account that an event names. Where finding out was dear, the answer is kept
/// until another event's was dear, so that an event costs that once.
final class PatternCondition: Sendable {
    /// What may be spent again for each device.
    private static let cheap = 2_000

    private struct Answer {
        /// The whole of it, since the id of an event that nobody verified proves nothing. One event is quickly told to
        /// be itself.
        var event: Event
        var holds: Bool
    }

    private let pattern: Pattern
    private let dearAnswer = Mutex<Answer?>(nil)
    private let exceeded = Atomic<UInt64>(0)

    init(_ pattern: Pattern) {
        self.pattern = pattern
    }

    /// How many events had values that took more than the budget, so that the pattern counted as not matched.
    var exceededCount: UInt64 { exceeded.load(ordering: .relaxed) }

    /// Whether any of `texts` matches, which for one event are always the same.
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

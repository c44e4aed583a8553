import Nostr

/// What has to be true of an event's content, of its tags of one name, or of a field of content that is JSON.
enum ValueCondition: Sendable {
    case content(ValueTest)
    case tag(TagCondition)
    case json(JSONCondition)

    /// The pattern to match, which is dear.
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

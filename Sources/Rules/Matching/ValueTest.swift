/// What has to be true of a text of an event.
enum ValueTest: Sendable {
    case equals([String])
    /// It is a number within these bounds, both included.
    case within(ClosedRange<Double>)
    case matches(PatternCondition)

    /// The pattern to match, which is dear.
    var pattern: PatternCondition? {
        if case .matches(let pattern) = self { pattern } else { nil }
    }

    /// Whether it holds for `text`; a pattern is asked elsewhere, for all texts of an event at once.
    func holdsWithoutPattern(for text: String) -> Bool {
        switch self {
        case .equals(let texts): texts.contains(text)
        case .within(let range): NumericVariable.number(text).map(range.contains) ?? false
        case .matches: true
        }
    }
}

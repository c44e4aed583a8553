import YAMLReading

extension YAMLValue {
    /// Its text, if it has no variables.
    var literal: String? {
        guard let text, !text.contains("{{") else { return nil }
        return text
    }

    /// Whether it is a text with variables.
    var isTemplate: Bool { text?.contains("{{") ?? false }

    /// The text before the first variable; nil if there is none.
    var literalBeginning: String? {
        guard let text, let end = text.firstRange(of: "{{")?.lowerBound, end > text.startIndex else { return nil }
        return String(text[..<end])
    }

    /// Its number, if it has no variables.
    var number: Double? {
        switch scalar() {
        case .whole(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// Whether it is `1` or `true`; nil if it is no flag.
    var isOn: Bool? {
        switch scalar() {
        case .flag(let flag): flag
        case .whole(let number): number == 1
        default: nil
        }
    }

    /// Whether it is `no` or `false`.
    var isOff: Bool { isOn == false || literal == "no" }

    private var text: String? {
        switch scalar() {
        case .text(let text): text
        case .whole(let number): String(number)
        default: nil
        }
    }
}

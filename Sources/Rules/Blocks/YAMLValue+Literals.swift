import YAMLReading

extension YAMLValue {
    /// Its text, where there is nothing to put in.
    var literal: String? {
        guard let text, !text.contains("{{") else { return nil }
        return text
    }

    /// Whether it is a text with something to put in.
    var isTemplate: Bool { text?.contains("{{") ?? false }

    /// What stands before the first thing that is put in; nil where nothing does.
    var literalBeginning: String? {
        guard let text, let end = text.firstRange(of: "{{")?.lowerBound, end > text.startIndex else { return nil }
        return String(text[..<end])
    }

    /// Its number, where there is nothing to put in.
    var number: Double? {
        switch scalar() {
        case .whole(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// Whether it is `1` or `true`; nil when it is neither yes nor no.
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

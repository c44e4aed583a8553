import YAMLReading

/// What may be done to a variable before it is put in, as in `{{excerpt(event.content)}}`.
enum TemplateFunction: Hashable, Sendable {
    /// The first so many characters, with `...` behind them if there were more; 100 if no number stands behind the name.
    case excerpt(Int)
    /// The first so many characters and nothing else.
    case truncate(Int)
    /// A key in the form that people copy (NIP-19).
    case npub
    /// An event's id in that form.
    case note
    /// The same with what is known about the event, so that others find it.
    case nevent
    /// How long ago a moment is, in words of the text's language.
    case ago
    /// The same in few letters that need no language: `5m`, `3h`, `2d`.
    case since
    case upper
    case lower

    private static let widths = 1...500
    private static let counting: [(name: String, make: @Sendable (Int) -> TemplateFunction)] = [
        ("excerpt", TemplateFunction.excerpt), ("truncate", TemplateFunction.truncate),
    ]
    private static let plain: [(name: String, function: TemplateFunction)] = [
        ("excerpt", .excerpt(100)), ("npub", .npub), ("note", .note), ("nevent", .nevent), ("ago", .ago),
        ("since", .since), ("upper", .upper), ("lower", .lower),
    ]

    /// The function that a template calls `name`.
    init?(_ name: some StringProtocol) {
        if let (_, function) = Self.plain.first(where: { $0.name == name }) {
            self = function
            return
        }
        for (word, make) in Self.counting where name.hasPrefix(word) {
            let digits = name.dropFirst(word.count)
            guard digits.first != "0", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let width = Int(digits),
                Self.widths.contains(width)
            else { return nil }
            self = make(width)
            return
        }
        return nil
    }

    func accepts(_ content: TemplateVariable.Content) -> Bool {
        switch (self, content) {
        case (_, .tag), (.npub, .publicKey), (.note, .eventID), (.nevent, .eventID), (.ago, .moment), (.since, .moment):
            true
        case (.npub, _), (.note, _), (.nevent, _), (.ago, _), (.since, _): false
        case (.excerpt, _), (.truncate, _), (.upper, _), (.lower, _): true
        }
    }

    static func unknown(_ name: some StringProtocol) -> TemplateError {
        let hint = NearestName.hint(String(name.prefix(40)), among: plain.map(\.name) + counting.map(\.name))
        guard hint.isEmpty else { return TemplateError("there is no function '\(name.prefix(40))'" + hint) }
        let all = plain.map { "\($0.name)(…)" } + counting.map { "\($0.name)N(…)" }
        return TemplateError(
            "there is no function '\(name.prefix(40))'; there are \(all.joined(separator: ", ")), with N characters from "
                + "\(widths.lowerBound) to \(widths.upperBound)"
        )
    }
}

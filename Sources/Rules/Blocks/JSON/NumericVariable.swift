/// The variables that stand for numbers, or may: what a template may consist of where a platform's block wants one.
enum NumericVariable {
    /// Besides these any tag of the event may hold a number.
    static let names = ["event.kind", "event.created_at", "referenced.kind", "zap.amount", "count"]

    /// ``isWhole(_:)`` as a regular expression, for the JSON Schema.
    static var pattern: String {
        let escaped = names.map { $0.split(separator: ".").joined(separator: #"\."#) }
        return #"^\{\{ *("# + escaped.joined(separator: "|") + #"|event\.tag\.[0-9A-Za-z_-]{1,32}) *\}\}$"#
    }

    /// Whether `text` is one numeric variable and nothing else, as in `{{count}}`.
    static func isWhole(_ text: some StringProtocol) -> Bool {
        guard text.hasPrefix("{{"), text.hasSuffix("}}"), text.utf8.count > 4 else { return false }
        let name = text.dropFirst(2).dropLast(2).split(separator: " ")
        return name.count == 1 && (names.contains(String(name[0])) || name[0].hasPrefix(TemplateVariable.tagPrefix))
    }

    /// The whole number that `text` is; nil for everything else, and for what an `Int` cannot hold.
    static func whole(_ text: String) -> Int? {
        guard let number = number(text) else { return nil }
        // Beyond 2^53 a Double is another number.
        return Int(text) ?? Int(exactly: number)
    }

    /// The number that `text` is, written in digits with at most one point between them; nil for everything else.
    static func number(_ text: String) -> Double? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 24, (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
        else { return nil }
        return Double(text)
    }
}

/// The variables that stand for numbers, or may: what a template may consist of where a platform's block wants one.
enum NumericVariable {
    /// Besides these any tag of the event may hold a number, and any field of JSON content.
    static let names = ["event.kind", "event.created_at", "referenced.kind", "zap.amount", "count"]
    /// What makes a number of a number.
    private static let functions = ["sats", "round"]
    private static let namePattern = "[0-9A-Za-z_-]{1,32}"

    /// ``isWhole(_:)`` as a regular expression, for the JSON Schema.
    static var pattern: String {
        let escaped = names.map { $0.split(separator: ".").joined(separator: #"\."#) }
        let made = [
            #"event\.tag\."# + namePattern + #"(\.[1-9])?"#, #"event\.json(\."# + namePattern + "){1,8}",
            #"count\(event\.tags\."# + namePattern + #"\)"#,
        ]
        return #"^\{\{ *(("# + functions.joined(separator: "|") + #")\()*("#
            + (escaped + made).joined(separator: "|") + #")\)* *\}\}$"#
    }

    /// Whether `text` is one numeric variable and nothing else, as in `{{count}}`, perhaps with functions around it
    /// that make a number of it.
    static func isWhole(_ text: some StringProtocol) -> Bool {
        guard text.hasPrefix("{{"), text.hasSuffix("}}"), text.utf8.count > 4 else { return false }
        let words = text.dropFirst(2).dropLast(2).split(separator: " ")
        guard words.count == 1 else { return false }
        var name = String(words[0])
        while let function = functions.first(where: { name.hasPrefix($0 + "(") }), name.hasSuffix(")") {
            name = String(name.dropFirst(function.count + 1).dropLast())
        }
        return names.contains(name) || name.hasPrefix(TemplateVariable.tagPrefix)
            || name.hasPrefix(TemplateVariable.fieldPrefix) || name.hasPrefix("count(" + TemplateVariable.listPrefix)
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

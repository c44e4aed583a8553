/// What may stand between `{{` and `}}` in the texts of a rule: variables, ``TemplateTags/function`` of one, sections and
/// comments. The rest of Mustache is refused, for it would render as nothing, or print whole values as the program sees them.
enum TemplateTags {
    static let function = "excerpt"
    /// The longest template in bytes of UTF-8; Mustache is read by recursion, one step a section.
    static let limit = 4096

    /// The variables that `text` may put in or ask for, by their whole names.
    ///
    /// Throws for the first tag that is none of these. Tags that never end are left to the parser.
    static func check(_ text: String) throws(TemplateError) -> Set<String> {
        guard text.utf8.count <= limit else { throw TemplateError("expected a template of at most \(limit) bytes") }
        var variables: Set<String> = []
        var rest = text[...]
        while let start = rest.firstRange(of: "{{") {
            rest = rest[start.upperBound...]
            guard let end = rest.firstRange(of: "}}") else { break }
            try variables.formUnion(check(tag: rest[..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        return variables
    }

    private static func check(tag: Substring) throws(TemplateError) -> [String] {
        switch tag.first {
        case "!", "/": return []
        case "#", "^": return try check(expression: tag.dropFirst(), isSection: true)
        case "&", "{": return try check(expression: tag.dropFirst(), isSection: false)
        case ">", "<", "$", "=", "%", "*":
            throw TemplateError("expected a variable, a section or a comment in {{\(tag.prefix(40))}}")
        default: return try check(expression: tag, isSection: false)
        }
    }

    private static func check(expression: Substring, isSection: Bool) throws(TemplateError) -> [String] {
        var name = trimmed(expression)
        if let parenthesis = name.firstIndex(of: "(") {
            guard trimmed(name[..<parenthesis]) == function, name.last == ")" else {
                throw TemplateError(
                    "there is no function '\(name[..<parenthesis].prefix(40))'; there is \(function)(…)"
                )
            }
            name = trimmed(name[parenthesis...].dropFirst().dropLast())
        }
        let meant = variables(meantBy: name)
        guard !meant.isEmpty || isSection && isGroup(name) else {
            throw TemplateError.unknownVariable(String(name.prefix(40)))
        }
        return meant
    }

    /// A whole name means itself; the part behind the dot, which is enough inside of its group's section, whichever ends so.
    private static func variables(meantBy name: Substring) -> [String] {
        TemplateValues.names.filter { $0 == name || !name.isEmpty && $0.hasSuffix(".\(name)") }
    }

    private static func isGroup(_ name: Substring) -> Bool {
        !name.isEmpty && TemplateValues.names.contains { $0.hasPrefix("\(name).") }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

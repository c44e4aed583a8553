/// The tags of a template: what stands between `{{` and `}}`. Variables, ``TemplateFunction``s of them, sections and comments
/// may. The rest of Mustache is refused, for it would render as nothing, or print whole values as the program sees them.
struct TemplateTags {
    /// The longest template in bytes of UTF-8; Mustache is read by recursion, one step a section.
    private static let limit = 4096

    /// The variables that the template may put in or ask for, by their whole names.
    private(set) var variables: Set<String> = []
    /// What stands between the tags.
    private(set) var literals: [Substring] = []

    /// A section that began and has not ended.
    private struct Section {
        /// What stands behind `#` or `^`, as its end has to repeat it.
        let name: Substring
        let isInverted: Bool
        /// The group whose variables go without its name in it; nil where it asks for a text or for what is missing.
        var group: Substring?

        var tag: String { "{{\(isInverted ? "^" : "#")\(name.prefix(40))}}" }
        var end: String { "{{/\(name.prefix(40))}}" }
    }

    private let vocabulary: TemplateVocabulary
    /// The sections around the place that is looked at.
    private var sections: [Section] = []

    /// Throws for the first tag that may not be, for one that never ends, and for a section that does not.
    init(of text: String, _ vocabulary: TemplateVocabulary) throws(TemplateError) {
        guard text.utf8.count <= Self.limit else {
            throw TemplateError("expected a template of at most \(Self.limit) bytes")
        }
        self.vocabulary = vocabulary
        var rest = text[...]
        while let start = rest.firstRange(of: "{{") {
            literals.append(rest[..<start.lowerBound])
            rest = rest[start.upperBound...]
            guard let end = rest.firstRange(of: "}}") else { throw Self.unended(rest, "}}") }
            let tag = rest[..<end.lowerBound]
            rest = rest[end.upperBound...]
            if let next = tag.firstRange(of: "{{"), tag.first != "!" {
                throw Self.unended(tag[..<next.lowerBound], "}}")
            }
            if tag.first == "{" {
                guard rest.first == "}" else { throw Self.unended(tag, "}}}") }
                rest.removeFirst()
            }
            let meant = try check(tag)
            variables.formUnion(meant.map(\.name))
        }
        literals.append(rest)
        if let open = sections.last { throw TemplateError("the section \(open.tag) has no end: expected \(open.end)") }
    }

    /// `tag` is what stands behind the opening braces.
    private static func unended(_ tag: Substring, _ end: String) -> TemplateError {
        TemplateError("the tag '{{\(tag.prefix(40))' has no end: expected \(end)")
    }

    private mutating func check(_ tag: Substring) throws(TemplateError) -> [TemplateVariable] {
        switch tag.first {
        case "!": return []
        case "/":
            let name = trimmed(tag.dropFirst())
            guard let open = sections.popLast() else { throw TemplateError("{{/\(name.prefix(40))}} ends no section") }
            guard open.name == name else {
                throw TemplateError("{{/\(name.prefix(40))}} ends no section: expected \(open.end) for \(open.tag)")
            }
            return []
        case "#", "^":
            var section = Section(name: trimmed(tag.dropFirst()), isInverted: tag.first == "^")
            let isGroup = vocabulary.isGroup(section.name)
            let meant = isGroup ? [] : try check(expression: section.name)
            if isGroup, !section.isInverted { section.group = section.name }
            sections.append(section)
            return meant
        case "&", "{": return try check(expression: trimmed(tag.dropFirst()))
        case ">", "<", "$", "=", "%", "*":
            throw TemplateError("expected a variable, a section or a comment in {{\(tag.prefix(40))}}")
        default: return try check(expression: trimmed(tag))
        }
    }

    private func check(expression: Substring) throws(TemplateError) -> [TemplateVariable] {
        var name = expression
        var functions: [TemplateFunction] = []
        while let parenthesis = name.firstIndex(of: "("), name.last == ")" {
            let word = name[..<parenthesis]
            guard let function = TemplateFunction(word) else { throw TemplateFunction.unknown(word) }
            functions.append(function)
            name = name[parenthesis...].dropFirst().dropLast()
        }
        let meant = variables(meantBy: name)
        guard !meant.isEmpty else { throw vocabulary.unknownVariable(name) }
        try check(functions, of: meant)
        return meant
    }

    /// A whole name means itself, and the part behind the dot the variable of each group around it: what the innermost
    /// does not have, Mustache seeks further out.
    private func variables(meantBy name: Substring) -> [TemplateVariable] {
        let names = sections.reversed().compactMap { $0.group.map { "\($0).\(name)" } } + [String(name)]
        return names.compactMap(vocabulary.variable)
    }

    /// What stands innermost gets the variable, the others what that made of it.
    private func check(_ functions: [TemplateFunction], of variables: [TemplateVariable]) throws(TemplateError) {
        guard let innermost = functions.last else { return }
        guard variables.contains(where: { innermost.accepts($0.content) }),
            functions.dropLast().allSatisfy({ $0.accepts(.text) })
        else {
            throw TemplateError(
                "expected npub of a pubkey, note and nevent of an id, ago and since of a time, with nothing between them"
            )
        }
    }

    private func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

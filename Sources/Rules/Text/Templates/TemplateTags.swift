/// The tags of a template, between `{{` and `}}`: variables, ``TemplateFunction``s, sections and comments. The rest of
/// Mustache is refused: it would render as nothing, or print internal values.
struct TemplateTags {
    /// The longest template in bytes of UTF-8: Mustache's parser recurses for each section.
    private static let limit = 4096

    /// The full names of the variables that the template uses.
    private(set) var variables: Set<String> = []
    /// The text between the tags.
    private(set) var literals: [Substring] = []

    /// A section that is still open.
    private struct Section {
        enum Content {
            /// Variables inside it need no group name.
            case group
            /// `{{.}}` is its text.
            case text
            /// `{{.}}` is each of its texts in turn.
            case list
            /// Rendered if the value is missing.
            case inverted
        }

        /// The name behind `#` or `^`, which its end repeats.
        let name: Substring
        let content: Content

        var tag: String { "{{\(content == .inverted ? "^" : "#")\(name.prefix(40))}}" }
        var end: String { "{{/\(name.prefix(40))}}" }
    }

    private let vocabulary: TemplateVocabulary
    /// The sections around the current place.
    private var sections: [Section] = []

    /// Throws for the first tag that is not allowed, and for tags and sections that do not end.
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

    /// `tag` is the text after the opening braces.
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
            let name = trimmed(tag.dropFirst())
            if vocabulary.isGroup(name) {
                sections.append(Section(name: name, content: tag.first == "#" ? .group : .inverted))
                return []
            }
            let (meant, isList) = try check(expression: name)
            sections.append(Section(name: name, content: tag.first == "^" ? .inverted : isList ? .list : .text))
            return meant
        case "&", "{": return try check(printed: trimmed(tag.dropFirst()))
        case ">", "<", "$", "=", "%", "*":
            throw TemplateError("expected a variable, a section or a comment in {{\(tag.prefix(40))}}")
        default: return try check(printed: trimmed(tag))
        }
    }

    private func check(printed expression: Substring) throws(TemplateError) -> [TemplateVariable] {
        let (meant, isList) = try check(expression: expression)
        guard !isList else {
            throw TemplateError(
                "this is a list: expected {{#\(expression.prefix(40))}} {{.}} {{/\(expression.prefix(40))}}, or count(…) of it"
            )
        }
        return meant
    }

    private func check(
        expression: Substring
    ) throws(TemplateError) -> (variables: [TemplateVariable], isList: Bool) {
        // Tests for the first or last element of the list.
        if innermost == .list, expression == "first()" || expression == "last()" { return ([], false) }
        var name = expression
        var functions: [TemplateFunction] = []
        while let parenthesis = name.firstIndex(of: "("), name.last == ")" {
            let word = name[..<parenthesis]
            guard let function = TemplateFunction(word) else { throw TemplateFunction.unknown(word) }
            functions.append(function)
            name = name[parenthesis...].dropFirst().dropLast()
        }
        if name == "." {
            try checkElement(functions)
            return ([], false)
        }
        let meant = variables(meantBy: name)
        guard !meant.isEmpty else { throw vocabulary.unknownVariable(name) }
        let contents = try meant.map { $0.content }.results(of: functions)
        return (meant, contents.contains(.list))
    }

    /// The meaning of `{{.}}`; inverted sections do not change it.
    private var innermost: Section.Content? { sections.last { $0.content != .inverted }?.content }

    private func checkElement(_ functions: [TemplateFunction]) throws(TemplateError) {
        switch innermost {
        case .text?, .list?: _ = try [TemplateVariable.Content.any].results(of: functions)
        case .group?, .inverted?, nil:
            throw TemplateError(
                "{{.}} stands for a text of the section around it: expected it in {{#event.tags.t}} or the like"
            )
        }
    }

    /// A full name means itself; the part after the dot means the variable of a group around it. Mustache looks for it
    /// from the innermost group outwards.
    private func variables(meantBy name: Substring) -> [TemplateVariable] {
        let groups = sections.reversed().compactMap { $0.content == .group ? $0.name : nil }
        return (groups.map { "\($0).\(name)" } + [String(name)]).compactMap(vocabulary.variable)
    }

    private func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

extension [TemplateVariable.Content] {
    /// The result type of nested `functions`; the last one takes one of these types.
    fileprivate func results(of functions: [TemplateFunction]) throws(TemplateError) -> [TemplateVariable.Content] {
        var contents = self
        for function in functions.reversed() {
            guard contents.contains(where: function.accepts) else { throw TemplateError(TemplateFunction.expectation) }
            contents = [function.result]
        }
        return contents
    }
}

/// The tags of a template: what stands between `{{` and `}}`. Variables, ``TemplateFunction``s of them, sections and comments
/// may. The rest of Mustache is refused, for it would render as nothing, or print whole values as the program sees them.
struct TemplateTags {
    /// The longest template in bytes of UTF-8; Mustache is read by recursion, one step a section.
    private static let limit = 4096

    /// The variables that the template may put in or ask for, by their whole names.
    private(set) var variables: Set<String> = []
    /// What stands between the tags.
    private(set) var literals: [Substring] = []

    private let vocabulary: TemplateVocabulary
    /// The sections around the place that is looked at: the group whose variables go without its name there; nil for sections
    /// that ask for a text or for what is missing.
    private var sections: [Substring?] = []

    /// Throws for the first tag that may not be. Tags that never end are left to the parser.
    init(of text: String, _ vocabulary: TemplateVocabulary) throws(TemplateError) {
        guard text.utf8.count <= Self.limit else {
            throw TemplateError("expected a template of at most \(Self.limit) bytes")
        }
        self.vocabulary = vocabulary
        var rest = text[...]
        while let start = rest.firstRange(of: "{{") {
            literals.append(rest[..<start.lowerBound])
            rest = rest[start.upperBound...]
            guard let end = rest.firstRange(of: "}}") else { return }
            let tag = rest[..<end.lowerBound]
            rest = rest[end.upperBound...]
            if tag.first == "{", rest.first == "}" { rest.removeFirst() }
            let meant = try check(tag)
            variables.formUnion(meant.map(\.name))
        }
        literals.append(rest)
    }

    private mutating func check(_ tag: Substring) throws(TemplateError) -> [TemplateVariable] {
        switch tag.first {
        case "!": return []
        case "/":
            _ = sections.popLast()
            return []
        case "#", "^":
            let name = trimmed(tag.dropFirst())
            if vocabulary.isGroup(name) {
                sections.append(tag.first == "#" ? name : nil)
                return []
            }
            let meant = try check(expression: name)
            sections.append(nil)
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
        let names = sections.reversed().compactMap { $0.map { "\($0).\(name)" } } + [String(name)]
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

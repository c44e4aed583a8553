import Core
import Push
import Storage

/// A variable of templates.
struct TemplateVariable: Sendable, Hashable {
    /// Its type, which decides the functions that can be applied to it.
    enum Content: Sendable {
        case text
        case publicKey
        case eventID
        /// Seconds since 1970.
        case moment
        /// The address of an event's newest version.
        case address
        case number
        /// The value of a tag or field, which may have any of these types.
        case any
        /// A list of such values, for a section.
        case list
    }

    /// The name as in a template.
    let name: String
    let content: Content

    private init(_ name: String, _ content: Content = .text) {
        self.name = name
        self.content = content
    }

    /// The variables of texts about one event, without those with ``tagPrefix``, ``listPrefix`` and ``fieldPrefix``.
    static let ofEvents: [TemplateVariable] =
        [
            TemplateVariable("event.id", .eventID), TemplateVariable("event.address", .address),
            TemplateVariable("event.pubkey", .publicKey),
            TemplateVariable("event.kind"), TemplateVariable("event.content"),
            TemplateVariable("event.created_at", .moment), TemplateVariable("event.subject"),
            TemplateVariable("author.name"), TemplateVariable("author.pubkey", .publicKey),
            TemplateVariable("author.npub"), TemplateVariable("recipient.pubkey", .publicKey),
            TemplateVariable("recipient.npub"), TemplateVariable("referenced.id", .eventID),
            TemplateVariable("referenced.kind"), TemplateVariable("referenced.content"),
            TemplateVariable("referenced.author.name"), TemplateVariable("referenced.author.pubkey", .publicKey),
            TemplateVariable("zap.amount", .number), TemplateVariable("zap.comment"), TemplateVariable("zap.anonymous"),
            TemplateVariable("signal"), TemplateVariable("relation"),
        ] + ofBatches

    /// The variables of texts that belong to no single event.
    static let ofBatches = [TemplateVariable("count", .number), TemplateVariable("batch")]

    static let tagPrefix = "event.tag."
    static let listPrefix = "event.tags."
    static let fieldPrefix = "event.json."
    /// The largest index of a value in a tag.
    private static let places = 1...9

    /// Returns the variable of that name with one of the prefixes; nil if there is none.
    static func made(_ name: String) -> TemplateVariable? {
        if name.hasPrefix(tagPrefix) { return tag(name.dropFirst(tagPrefix.count)) }
        if name.hasPrefix(listPrefix) { return list(name.dropFirst(listPrefix.count)) }
        if name.hasPrefix(fieldPrefix) { return field(name.dropFirst(fieldPrefix.count)) }
        return nil
    }

    /// Returns the first value of the first tag `name`, or the value at an index after the name. Nil if templates
    /// cannot use that tag name.
    static func tag(_ name: some StringProtocol) -> TemplateVariable? {
        let parts = String(name).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let first = parts.first, isName(first) else { return nil }
        if parts.count == 2 {
            guard let place = Int(parts[1]), places.contains(place), parts[1].utf8.count == 1 else { return nil }
        }
        return TemplateVariable(tagPrefix + name, .any)
    }

    /// Returns the list of the first values of all tags called `name`.
    private static func list(_ name: some StringProtocol) -> TemplateVariable? {
        isName(name) ? TemplateVariable(listPrefix + name, .list) : nil
    }

    /// Returns a field of JSON content.
    private static func field(_ path: some StringProtocol) -> TemplateVariable? {
        let path = String(path)
        guard JSONPath(path) != nil, path.split(separator: ".").allSatisfy({ isName($0) }) else { return nil }
        return TemplateVariable(fieldPrefix + path, .any)
    }

    private static func isName(_ name: some StringProtocol) -> Bool {
        (1...32).contains(name.utf8.count)
            && name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }
}

/// The variables that the texts at one place may use.
struct TemplateVocabulary: Sendable {
    private let variables: [TemplateVariable]
    private let knowsTags: Bool

    /// For texts about an event.
    static let event = TemplateVocabulary(variables: TemplateVariable.ofEvents, knowsTags: true)
    /// For texts that belong to no single event.
    static let batch = TemplateVocabulary(variables: TemplateVariable.ofBatches, knowsTags: false)

    /// All variable names, for error messages.
    var names: [String] {
        variables.map(\.name)
            + (knowsTags
                ? [
                    TemplateVariable.tagPrefix + "NAME", TemplateVariable.tagPrefix + "NAME.2",
                    TemplateVariable.listPrefix + "NAME", TemplateVariable.fieldPrefix + "NAME",
                ] : [])
    }

    /// Returns the variable of that full name.
    func variable(_ name: String) -> TemplateVariable? {
        if let variable = variables.first(where: { $0.name == name }) { return variable }
        return knowsTags ? TemplateVariable.made(name) : nil
    }

    /// Whether there are variables that start with `name` and a dot.
    func isGroup(_ name: some StringProtocol) -> Bool {
        !name.isEmpty && variables.contains { $0.name.hasPrefix("\(name).") }
    }

    func unknownVariable(_ name: some StringProtocol) -> TemplateError {
        let whole = name.isEmpty ? nil : variables.first { $0.name.hasSuffix(".\(name)") }?.name
        let hint =
            whole.map { "; did you mean '\($0)'?" } ?? NearestName.hint(String(name), among: variables.map(\.name))
        return TemplateError(
            "there is no variable '\(name.prefix(40))'"
                + (hint.isEmpty ? "; there are " + names.joined(separator: ", ") : hint)
        )
    }
}

/// The context in which a template is rendered.
struct TemplateScope: Sendable {
    /// The place of the text.
    var place = TextPlace.line
    /// The template's language; nil if unknown.
    var language: LanguageTag?
    /// The current time; the epoch means unknown.
    var now: Timestamp = .epoch
    /// How `nostr:` URIs are shown in texts for people.
    var mentions = MentionStyle.raw
}

/// The tags of a template, between `{{` and `}}`: variables, ``TemplateFunction``s, sections and comments. Other
/// features of Mustache are refused: they would render as empty, or print internal values.
struct TemplateTags {
    /// The maximum length of a template in UTF-8 bytes, because Mustache's parser recurses for each section.
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

        /// The name after `#` or `^`, which the end tag repeats.
        let name: Substring
        let content: Content

        var tag: String { "{{\(content == .inverted ? "^" : "#")\(name.prefix(40))}}" }
        var end: String { "{{/\(name.prefix(40))}}" }
    }

    private let vocabulary: TemplateVocabulary
    /// The sections around the current tag.
    private var sections: [Section] = []

    /// Throws for the first tag that is not allowed, and for tags and sections without an end.
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

    /// The error about a tag without an end. `tag` is the text after the opening braces.
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
        // These test for the first or last element of the list.
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

    /// The section that gives `{{.}}` its meaning; inverted sections are skipped.
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

    /// Returns the variables that `name` may mean: as a full name, or as a variable of a surrounding group. Mustache
    /// searches from the innermost group outwards.
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
    /// Returns the result types of nested `functions`; the last one gets one of these types.
    fileprivate func results(of functions: [TemplateFunction]) throws(TemplateError) -> [TemplateVariable.Content] {
        var contents = self
        for function in functions.reversed() {
            guard contents.contains(where: function.accepts) else { throw TemplateError(TemplateFunction.expectation) }
            contents = [function.result]
        }
        return contents
    }
}

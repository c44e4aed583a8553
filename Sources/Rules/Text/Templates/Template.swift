import Mustache

/// A text with `{{…}}` in it, read and checked once, rendered often. Mustache's syntax, without its HTML escaping.
///
/// What is written in the file stays as it is. What a variable puts in is made harmless for the place the text goes to.
struct Template: Sendable {
    private enum Body: Sendable {
        case literal(String)
        case mustache(MustacheTemplate)
    }

    private let body: Body
    private let place: TextPlace
    /// The variables it may put in or ask for, by their whole names.
    let variables: Set<String>

    static let empty = Template(literal: "")

    /// A text without tags that needs no check.
    init(literal: String) {
        self.body = .literal(literal)
        self.place = .line
        self.variables = []
    }

    /// Throws ``TemplateError`` for broken syntax, for variables and functions that do not exist, for what ``TemplateTags``
    /// refuses, and for characters that the place the text goes to cannot show.
    init(
        _ text: String,
        in place: TextPlace = .line,
        speakingOf vocabulary: TemplateVocabulary = .event
    ) throws(TemplateError) {
        let tags = try TemplateTags(of: text, vocabulary)
        try LiteralCheck.check(tags.literals, place)
        self.variables = tags.variables
        guard text.contains("{{") else {
            self.body = .literal(text)
            self.place = place
            return
        }
        let template: MustacheTemplate
        do {
            template = try MustacheTemplate(string: "{{% CONTENT_TYPE:TEXT}}" + text)
        } catch {
            // What people write wrong was told before, so this names where it is and no more.
            let place = (error as? MustacheTemplate.ParserError)?.context
            throw TemplateError(
                "the template is broken"
                    + (place.map { " in its line \($0.lineNumber), at column \($0.columnNumber)" } ?? "")
            )
        }
        self.body = .mustache(template)
        self.place = place == .url && tags.literals.allSatisfy(\.isEmpty) ? .wholeURL : place
    }

    /// Whether it is a URL of which nothing is the operator's own.
    var isWholeURL: Bool {
        if case .wholeURL = place { true } else { false }
    }

    /// The text, where there is nothing to put in.
    var literal: String? {
        guard case .literal(let text) = body else { return nil }
        return text
    }

    func render(_ values: TemplateValues) -> String {
        switch body {
        case .literal(let text): text
        case .mustache(let template): finished(template.render(values.going(to: place)))
        }
    }

    /// What is put in may leave a blank of the literal text at an end.
    private func finished(_ text: String) -> String {
        guard place == .identifier, text.first?.isWhitespace == true || text.last?.isWhitespace == true else {
            return text
        }
        var text = text[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

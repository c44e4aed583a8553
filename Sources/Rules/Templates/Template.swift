import Mustache
import Storage

/// A text with `{{…}}` tags in the syntax of Mustache, without HTML escaping. It is read and checked once, and rendered
/// often.
///
/// The file's own text stays unchanged. Values are sanitized for the place of the text.
struct Template: Sendable {
    private enum Body: Sendable {
        case literal(String)
        case segments(TemplateSegments)
        case mustache(MustacheTemplate)
    }

    private let body: Body
    private let place: TextPlace
    /// The full names of the variables that it inserts or tests.
    let variables: Set<String>

    static let empty = Template(literal: "")

    /// Creates a text without tags that needs no check.
    init(literal: String) {
        self.body = .literal(literal)
        self.place = .line
        self.variables = []
    }

    /// Creates a text that may contain a literal `{{`. Throws ``TemplateError`` for characters that its place cannot
    /// show.
    init(unchanged text: String, in place: TextPlace) throws(TemplateError) {
        try LiteralCheck.check([text[...]], place)
        self.body = .literal(text)
        self.place = place
        self.variables = []
    }

    /// Throws ``TemplateError`` for invalid syntax, unknown variables and functions, tags that ``TemplateTags``
    /// refuses, and characters that the text's place cannot show.
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
            // Other errors were reported before, so this contains only the position.
            let place = (error as? MustacheTemplate.ParserError)?.context
            throw TemplateError(
                "the template is invalid"
                    + (place.map { " in its line \($0.lineNumber), at column \($0.columnNumber)" } ?? "")
            )
        }
        // Mustache parses it in any case to find errors.
        self.body = TemplateSegments(text).map(Body.segments) ?? .mustache(template)
        self.place = place == .url && tags.literals.allSatisfy(\.isEmpty) ? .wholeURL : place
    }

    /// Whether it is a URL without any text of the operator.
    var isWholeURL: Bool {
        if case .wholeURL = place { true } else { false }
    }

    /// The text, if it has no variables.
    var literal: String? {
        guard case .literal(let text) = body else { return nil }
        return text
    }

    func render(_ values: TemplateValues) -> String {
        switch body {
        case .literal(let text): text
        case .segments(let segments): finished(segments.render(values, in: place))
        case .mustache(let template): finished(template.render(values.going(to: place)))
        }
    }

    /// Trims an identifier: a missing value may leave a space at an end.
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

extension Template {
    /// Reads the template in `value`. Returns nil and records the error if it is invalid.
    static func read(
        _ value: YAMLValue,
        in place: TextPlace = .line,
        speakingOf vocabulary: TemplateVocabulary = .event
    ) -> Template? {
        guard let text = value.string() else { return nil }
        do {
            return value.file.isOfClient
                ? try Template(unchanged: text, in: place) : try Template(text, in: place, speakingOf: vocabulary)
        } catch {
            value.mistake(error.message)
            return nil
        }
    }
}

/// The error in a text that is not a valid template.
struct TemplateError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}

/// Checks an operator's own text. It is not changed, so characters that would break its field are errors.
enum LiteralCheck {
    static func check(_ literals: [Substring], _ place: TextPlace) throws(TemplateError) {
        // A text without variables is checked as a whole elsewhere.
        if place == .url, literals.count > 1, literals.contains(where: { $0.utf8.contains(0x20) }) {
            throw TemplateError("expected a URL without spaces; write %20 for a space")
        }
        for scalar in literals.lazy.flatMap(\.unicodeScalars)
        where !scalar.isASCII || !(0x20...0x7E).contains(scalar.value) {
            switch ScalarRole(scalar) {
            case .lineBreak where place.isMultiline && scalar == "\n", .tab where place.isMultiline: break
            case .lineBreak:
                throw TemplateError(
                    "expected one line (a block that starts with | or > ends with a line break; |- and >- do not)"
                )
            case .tab, .control: throw TemplateError("expected no control characters")
            case .base, .mark, .blank, .joiner, .directionMark, .variationSelector, .tag, .harmful: break
            }
        }
    }
}

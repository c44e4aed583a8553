import Nostr

/// A template as a list of segments to append to a text. Most templates of rules are this simple: one line, full
/// variable names, and sections that test one variable. All others use Mustache, which searches each name on a stack by
/// reflection, at ten times the cost.
struct TemplateSegments: Sendable {
    private indirect enum Segment: Sendable {
        case literal(String)
        case value(Expression)
        /// Rendered if the value exists, or if it is missing when `isInverted`.
        case section(Expression, isInverted: Bool, [Segment])
    }

    private struct Expression: Sendable {
        let variable: TemplatePath
        /// In the order in which they apply.
        let functions: [TemplateFunction]

        func text(_ values: TemplateValues, _ place: TextPlace) -> TemplateText? {
            guard var text = values.text(variable, in: place) else { return nil }
            for function in functions {
                guard let result = text.applying(function) else { return nil }
                text = result
            }
            return text
        }
    }

    private let segments: [Segment]
    /// The number of bytes in the literal segments.
    private let literalLength: Int
    /// Texts up to this size need no heap allocation.
    private static let shortText = 15
    /// The typical size of values in bytes, which is reserved in advance.
    private static let usualValues = 32

    /// Nil for a template that requires Mustache. `text` must have passed ``TemplateTags``.
    init?(_ text: String) {
        // Mustache removes lines that contain only a section's tag.
        guard !text.contains(where: \.isNewline) else { return nil }
        var reader = Reader(rest: text[...])
        guard let segments = reader.segments(until: nil), reader.rest.isEmpty else { return nil }
        self.segments = segments
        literalLength = segments.reduce(0) { length, segment in
            if case .literal(let text) = segment { length + text.utf8.count } else { length }
        }
    }

    func render(_ values: TemplateValues, in place: TextPlace) -> String {
        var text = ""
        if literalLength > Self.shortText { text.reserveCapacity(literalLength + Self.usualValues) }
        Self.append(segments, to: &text, values, place)
        return text
    }

    private static func append(
        _ segments: [Segment],
        to text: inout String,
        _ values: TemplateValues,
        _ place: TextPlace
    ) {
        for segment in segments {
            switch segment {
            case .literal(let literal): text += literal
            case .value(let expression):
                if let value = expression.text(values, place) { text += value.renderText }
            case .section(let expression, let isInverted, let inner):
                let isMissing = expression.text(values, place)?.isNull ?? true
                if isMissing == isInverted { append(inner, to: &text, values, place) }
            }
        }
    }

    /// Parses tags that are known to be well-formed. Returns nil for a tag that is not simple.
    private struct Reader {
        var rest: Substring

        /// Returns the segments up to the end of the section `section`, or of the text.
        mutating func segments(until section: Substring?) -> [Segment]? {
            var segments: [Segment] = []
            while let start = rest.firstRange(of: "{{") {
                if start.lowerBound > rest.startIndex {
                    segments.append(.literal(String(rest[..<start.lowerBound])))
                }
                rest = rest[start.upperBound...]
                guard let end = rest.firstRange(of: "}}") else { return nil }
                let tag = rest[..<end.lowerBound]
                rest = rest[end.upperBound...]
                switch tag.first {
                case "#", "^":
                    let name = trimmed(tag.dropFirst())
                    guard let expression = expression(name), let inner = self.segments(until: name) else { return nil }
                    segments.append(.section(expression, isInverted: tag.first == "^", inner))
                case "/": return trimmed(tag.dropFirst()) == section ? segments : nil
                case "!", "{", "&": return nil
                default:
                    guard let expression = expression(trimmed(tag)) else { return nil }
                    segments.append(.value(expression))
                }
            }
            guard section == nil else { return nil }
            if !rest.isEmpty { segments.append(.literal(String(rest))) }
            rest = rest[rest.endIndex...]
            return segments
        }

        private func expression(_ text: Substring) -> Expression? {
            var name = text
            var functions: [TemplateFunction] = []
            while let parenthesis = name.firstIndex(of: "("), name.last == ")" {
                guard let function = TemplateFunction(name[..<parenthesis]) else { return nil }
                functions.append(function)
                name = name[parenthesis...].dropFirst().dropLast()
            }
            return TemplatePath(name).map { Expression(variable: $0, functions: functions.reversed()) }
        }

        private func trimmed(_ text: Substring) -> Substring {
            var text = text
            while text.first?.isWhitespace == true { text.removeFirst() }
            while text.last?.isWhitespace == true { text.removeLast() }
            return text
        }
    }
}

/// The path to a variable's value, determined when the template is read.
enum TemplatePath: Sendable {
    /// A value of the notification itself, such as `count`.
    case word(String)
    case member(TemplateGroup.Name, String)
    /// The value at an index in the first tag of that name; 1 is the first after the name.
    case tag(String, at: Int)

    /// Nil for lists, groups, fields of JSON, and names relative to a group.
    init?(_ name: Substring) {
        guard TemplateVocabulary.event.variable(String(name)) != nil else { return nil }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        switch (parts.count, parts[0], parts.dropFirst().first) {
        case (1, _, _): self = .word(parts[0])
        case (3, "event", "tag"?): self = .tag(parts[2], at: 1)
        case (4, "event", "tag"?):
            guard let place = Int(parts[3]) else { return nil }
            self = .tag(parts[2], at: place)
        case (_, "event", "tags"?), (_, "event", "json"?): return nil
        case (2, "event", let member?): self = .member(.event, member)
        case (2, "author", let member?): self = .member(.author, member)
        case (2, "recipient", let member?): self = .member(.recipient, member)
        case (2, "referenced", let member?): self = .member(.referenced, member)
        case (3, "referenced", "author"?): self = .member(.referencedAuthor, parts[2])
        case (2, "zap", let member?): self = .member(.zap, member)
        default: return nil
        }
    }
}

import Core
import JSON
import Storage

/// What a key of an object takes.
package indirect enum ValueSchema: Hashable, Sendable {
    case text(TextSchema)
    case textOrNull
    case flag(FlagSpelling)
    case integer(ClosedRange<Int>)
    /// One of these, never a template.
    case integers([Int])
    case number(ClosedRange<Double>)
    /// One of these words. A fixed one is never a template: other keys depend on it.
    case choice([String], isFixed: Bool)
    case moment(MomentSpelling)
    /// Of at most that length.
    case span(SpanSpelling, limit: Duration)
    /// From so many to so many values.
    case list(of: ValueSchema, ClosedRange<Int>)
    case object(ObjectSchema)
    /// An object under whose keys, which may be any, such a value stands.
    case dictionary(of: ValueSchema)
    /// An object with anything in it. The app decodes a complete one as a whole and refuses it if a member is missing.
    case freeObject(isComplete: Bool)
    /// Two types that are distinguished by their form: the first is no object, the second is one.
    case either(ValueSchema, orObject: ObjectSchema)
    /// Anything: this version knows no more about it.
    case any

    package static let anyNumber = -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude
}

/// How a push service wants yes and no.
package enum FlagSpelling: String, CaseIterable, Hashable, Sendable {
    /// `true` and `false`.
    case bool
    /// `1` and `0`, as Apple has them.
    case oneOrZero = "one-or-zero"
    /// `"yes"` and `"no"`, as ntfy has them.
    case yesOrNo = "yes-or-no"
}

/// How a push service wants a moment.
package enum MomentSpelling: String, CaseIterable, Hashable, Sendable {
    case unixSeconds = "unix-seconds"
    case unixMilliseconds = "unix-milliseconds"
    /// Text such as `2026-02-24T12:00:00Z`.
    case rfc3339
}

/// How a push service wants a length of time.
package enum SpanSpelling: String, CaseIterable, Hashable, Sendable {
    /// Text as Protocol Buffers have it in JSON, `3.5s`.
    case protobuf
    /// A whole number of seconds.
    case seconds
}

/// What a text must look like.
package struct TextSchema: Hashable, Sendable {
    /// What the rules know by themselves.
    package enum Format: String, CaseIterable, Hashable, Sendable {
        /// With a scheme, such as `https://example.com` and `app://home`.
        case uri
        case webURL = "http-uri"
        /// The URL of a picture, which may be relative to the web app's own.
        case picture = "http-uri-reference"
        case base64
    }

    /// What variables may put into it.
    package enum Place: String, CaseIterable, Hashable, Sendable {
        case line
        case paragraph
        case url
        case identifier
    }

    package var format: Format?
    /// A regular expression that holds for the text.
    package var pattern: TextPattern?
    package var isFilled = false
    package var place: Place

    package init(format: Format? = nil, place: Place = .line) {
        self.format = format
        self.place = place
    }
}

/// A regular expression for texts, with words for what it asks.
package struct TextPattern: Sendable {
    /// In the syntax that JSON Schema and PCRE2 share.
    package let source: String
    /// What is expected, such as `a colour as #rrggbb`.
    package let expected: String
    /// Whether what variables make of a text need not match: the plugin makes something of it that does.
    package let isOnlyForLiterals: Bool
    private let pattern: Pattern

    init(source: String, expected: String?, isOnlyForLiterals: Bool = false) throws(PatternError) {
        self.source = source
        self.expected = expected ?? "a text that matches \(source)"
        self.isOnlyForLiterals = isOnlyForLiterals
        pattern = try Pattern(source)
    }

    package func matches(_ text: String) -> Bool { pattern.match(text) == .matches }
}

extension TextPattern: Hashable {
    package static func == (one: Self, other: Self) -> Bool {
        one.source == other.source && one.expected == other.expected
            && one.isOnlyForLiterals == other.isOnlyForLiterals
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(source) }
}

extension ValueSchema {
    /// Whether a key that takes it can name files: a text, or a list of texts.
    var canNameFiles: Bool {
        switch self {
        case .text: true
        case .list(.text, _): true
        default: false
        }
    }

    /// Reads a schema; what this version does not know is left unchecked. Only the schema of a key may be marked as
    /// that of a file.
    init(_ reader: DescriptionReader, ofKey isOfKey: Bool = false) throws {
        let members = try reader.members(
            "type",
            "format",
            "enum",
            "const",
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "pattern",
            "items",
            "minItems",
            "maxItems",
            "properties",
            "required",
            "additionalProperties",
            "anyOf",
            "title",
            "description",
            "default",
            "checks",
            "x-alias",
            "x-fixed",
            "x-place",
            "x-writes",
            "x-complete",
            "x-essential",
            "x-expected",
            "x-only-literals",
            "x-buttons",
            "file"
        )
        if !isOfKey { members["file"]?.noteUnknown() }
        if let choices = try members["enum"]?.list() {
            self = try Self.choice(choices, isFixed: members["x-fixed"]?.flag() ?? false)
        } else if let parts = try members["anyOf"]?.list() {
            let mistake = reader.error("expected two schemas under anyOf: one of no object, one of an object")
            guard parts.count == 2 else { throw mistake }
            switch try ValueSchema(parts[1]) {
            case .object(let object): self = .either(try ValueSchema(parts[0]), orObject: object)
            case .freeObject: self = .either(try ValueSchema(parts[0]), orObject: .open)
            default: throw mistake
            }
        } else {
            self = try Self.typed(reader, members)
        }
    }

    private static func choice(_ choices: [DescriptionReader], isFixed: Bool) throws -> ValueSchema {
        if let first = choices.first, case .number = first.value {
            return .integers(try choices.map { try $0.integer() })
        }
        return .choice(try choices.map { try $0.text() }, isFixed: isFixed)
    }

    private static func typed(
        _ reader: DescriptionReader,
        _ members: [String: DescriptionReader]
    ) throws -> ValueSchema {
        guard let type = members["type"] else {
            reader.noteUnknown()
            return .any
        }
        if case .array = type.value {
            guard try Set(type.texts()) == ["string", "null"] else {
                type.noteUnknown()
                return .any
            }
            return .textOrNull
        }
        switch try type.text() {
        case "string": return try text(members)
        case "boolean": return .flag(try members["x-writes"]?.choice(FlagSpelling.self) ?? .bool)
        case "integer":
            let least = try members["minimum"]?.integer() ?? Int.min
            let most = try members["maximum"]?.integer() ?? Int.max
            guard least <= most else { throw reader.error("'minimum' is more than 'maximum'") }
            return .integer(least...most)
        case "number":
            let least = try members["minimum"]?.number() ?? anyNumber.lowerBound
            let most = try members["maximum"]?.number() ?? anyNumber.upperBound
            guard least <= most else { throw reader.error("'minimum' is more than 'maximum'") }
            return .number(least...most)
        case "array":
            let least = try members["minItems"]?.integer(in: 0...Int.max) ?? 0
            let most = try members["maxItems"]?.integer(in: 0...Int.max) ?? Int.max
            guard least <= most else { throw reader.error("'minItems' is more than 'maxItems'") }
            return .list(of: try members["items"].map { try ValueSchema($0) } ?? .any, least...most)
        case "object":
            if members["properties"] == nil, let further = members["additionalProperties"],
                case .object = further.value
            {
                return .dictionary(of: try ValueSchema(further))
            }
            if members["properties"] == nil, members["checks"] == nil {
                return .freeObject(isComplete: try members["x-complete"]?.flag() ?? false)
            }
            return .object(try ObjectSchema(reader))
        default:
            type.noteUnknown()
            return .any
        }
    }

    private static func text(_ members: [String: DescriptionReader]) throws -> ValueSchema {
        if let format = members["format"] {
            switch try format.text() {
            case "date-time": return .moment(try members["x-writes"]?.choice(MomentSpelling.self) ?? .rfc3339)
            case "duration":
                let seconds = try members["maximum"]?.integer(in: 0...Int(Int32.max)) ?? Int(Int32.max)
                let spelling = try members["x-writes"]?.choice(SpanSpelling.self) ?? .seconds
                return .span(spelling, limit: .seconds(seconds))
            default: break
            }
        }
        var text = TextSchema()
        if let format = members["format"] {
            text.format = TextSchema.Format(rawValue: try format.text())
            if text.format == nil { format.noteUnknown() }
        }
        if let pattern = members["pattern"] {
            text.pattern = try pattern.pattern(
                expected: members["x-expected"]?.text(),
                isOnlyForLiterals: members["x-only-literals"]?.flag() ?? false
            )
        }
        text.isFilled = try (members["minLength"]?.integer() ?? 0) > 0
        switch text.format {
        case nil: text.place = .line
        case .uri, .webURL, .picture: text.place = .url
        case .base64: text.place = .identifier
        }
        if let place = members["x-place"] { text.place = try place.choice(TextSchema.Place.self) }
        return .text(text)
    }
}

extension DescriptionReader {
    func pattern(expected: String?, isOnlyForLiterals: Bool = false) throws -> TextPattern {
        do {
            return try TextPattern(source: text(), expected: expected, isOnlyForLiterals: isOnlyForLiterals)
        } catch let problem as PatternError {
            throw error("not a regular expression: \(problem)")
        }
    }
}

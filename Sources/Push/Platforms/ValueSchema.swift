import Core
import JSON
import Storage

/// The type of a key's value.
package indirect enum ValueSchema: Hashable, Sendable {
    case text(TextSchema)
    case textOrNull
    case flag(FlagSpelling)
    case integer(ClosedRange<Int>)
    /// One of these, never a template.
    case integers([Int])
    case number(ClosedRange<Double>)
    /// One of these words. A fixed one is never a template, because other keys depend on it.
    case choice([String], isFixed: Bool)
    case moment(MomentSpelling)
    /// A duration up to a limit.
    case span(SpanSpelling, limit: Duration)
    /// A list whose length is in this range.
    case list(of: ValueSchema, ClosedRange<Int>)
    case object(ObjectSchema)
    /// An object with any keys and such values.
    case dictionary(of: ValueSchema)
    /// An object with any content. If it `isComplete`, the app decodes it as a whole, and refuses it without all
    /// members.
    case freeObject(isComplete: Bool)
    /// Two types that differ in form: the first is not an object, the second is one.
    case either(ValueSchema, orObject: ObjectSchema)
    /// Any value, because this version does not know the type.
    case any

    package static let anyNumber = -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude
}

/// How a push service spells flags.
package enum FlagSpelling: String, CaseIterable, Hashable, Sendable {
    /// `true` and `false`.
    case bool
    /// `1` and `0`, as for Apple.
    case oneOrZero = "one-or-zero"
    /// `"yes"` and `"no"`, as for ntfy.
    case yesOrNo = "yes-or-no"
}

/// How a push service spells points in time.
package enum MomentSpelling: String, CaseIterable, Hashable, Sendable {
    case unixSeconds = "unix-seconds"
    case unixMilliseconds = "unix-milliseconds"
    /// A string such as `2026-02-24T12:00:00Z`.
    case rfc3339
}

/// How a push service spells durations.
package enum SpanSpelling: String, CaseIterable, Hashable, Sendable {
    /// A string as in Protocol Buffers' JSON, `3.5s`.
    case protobuf
    /// A whole number of seconds.
    case seconds
}

/// The form of a text.
package struct TextSchema: Hashable, Sendable {
    /// The formats that rules can check.
    package enum Format: String, CaseIterable, Hashable, Sendable {
        /// A URL with a scheme, such as `https://example.com` and `app://home`.
        case uri
        case webURL = "http-uri"
        /// The URL of a picture, which may be relative to the web app's own.
        case picture = "http-uri-reference"
        case base64
    }

    /// The kind of text that variables may produce in it.
    package enum Place: String, CaseIterable, Hashable, Sendable {
        case line
        case paragraph
        case url
        case identifier
    }

    package var format: Format?
    /// A regular expression that the text must match.
    package var pattern: TextPattern?
    package var isFilled = false
    package var place: Place

    package init(format: Format? = nil, place: Place = .line) {
        self.format = format
        self.place = place
    }
}

/// A regular expression for texts, with a description.
package struct TextPattern: Sendable {
    /// In the common syntax of JSON Schema and PCRE2.
    package let source: String
    /// The description, such as `a colour as #rrggbb`.
    package let expected: String
    /// Whether results of variables need not match, because the plugin converts them.
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
    /// Whether a key of this type can name files: a text, or a list of texts.
    var canNameFiles: Bool {
        switch self {
        case .text: true
        case .list(.text, _): true
        default: false
        }
    }

    /// Reads a schema; parts that this version does not know are not checked. Only the schema of a key may be marked as
    /// a file.
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
            let mistake = reader.error("expected two schemas in anyOf: first one of another type, then an object")
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

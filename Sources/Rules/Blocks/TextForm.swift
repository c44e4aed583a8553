import JSON
import Push

/// The form of a text: how it must look in the file without variables, and how variables are rendered in it.
struct TextForm: Sendable {
    /// A single line.
    static let line = TextForm(TextSchema())
    /// A text that may contain line breaks and tabs.
    static let paragraph = TextForm(TextSchema(place: .paragraph))
    /// A URL with a scheme, such as `https://example.com` and `app://home`.
    static let absoluteURL = TextForm(TextSchema(format: .uri, place: .url))

    private let schema: TextSchema

    init(_ schema: TextSchema) {
        self.schema = schema
    }

    /// The kind of text that variables may produce here.
    var place: TextPlace {
        switch schema.place {
        case .line: .line
        case .paragraph: .paragraph
        case .url: .url
        case .identifier: .identifier
        }
    }

    /// Returns the error in `text`, if any.
    func mistake(in text: String) -> String? {
        if schema.isFilled, text.isEmpty { return "expected a text that is not empty" }
        if let pattern = schema.pattern, !pattern.matches(text) { return "expected \(pattern.expected)" }
        return schema.format.flatMap { Self.mistake(in: text, $0) }
    }

    /// Whether the result of a template is valid here.
    func takes(rendered text: String) -> Bool {
        schema.pattern?.isOnlyForLiterals ?? false || mistake(in: text) == nil
    }

    /// Whether ``takes(rendered:)`` is false for some texts.
    var refusesSome: Bool {
        if let pattern = schema.pattern { return !pattern.isOnlyForLiterals }
        return schema.isFilled || schema.format != nil
    }

    /// A JSON Schema of such texts. It accepts YAML numbers and flags as texts.
    var jsonSchema: JSONValue {
        if let pattern { return ["type": "string", "pattern": .string("\(Self.templatePattern)|\(pattern)")] }
        if schema.isFilled { return ["type": ["string", "number", "boolean"], "minLength": 1] }
        return ["type": ["string", "number", "boolean"]]
    }

    /// Matches texts with variables, which may have any form.
    static let templatePattern = #"\{\{"#

    private var pattern: String? {
        if let pattern = schema.pattern { return pattern.source }
        switch schema.format {
        case nil: return nil
        case .uri: return AbsoluteURL.pattern
        case .webURL: return "^[Hh][Tt][Tt][Pp][Ss]?:[^\\s]+$"
        case .picture: return "^([Hh][Tt][Tt][Pp][Ss]?:[^\\s]+|[^:\\s/]*/[^\\s]*|[^:\\s]+)$"
        case .base64: return "^[0-9A-Za-z+/]+={0,2}$"
        }
    }

    private static func mistake(in text: String, _ format: TextSchema.Format) -> String? {
        switch format {
        case .uri: AbsoluteURL.isOne(text) ? nil : AbsoluteURL.expectation
        case .webURL: isWebURL(text) ? nil : "expected a URL that starts with https:// or http://"
        case .picture:
            isPicture(text)
                ? nil : "expected a URL that starts with https:// or http://, or a path of the app's own site"
        case .base64:
            !text.isEmpty && text.utf8.count % 4 == 0
                && text.utf8.drop { isBase64($0) }.allSatisfy { $0 == 0x3D }
                && text.utf8.suffix(3).filter { $0 == 0x3D }.count <= 2 ? nil : "expected base64"
        }
    }

    private static func isWebURL(_ text: String) -> Bool {
        AbsoluteURL.isOne(text) && ["http", "https"].contains(AbsoluteURL.scheme(of: text))
    }

    private static func isPicture(_ text: String) -> Bool {
        guard let first = text.utf8.firstIndex(where: { $0 == 0x3A || $0 == 0x2F }), text.utf8[first] == 0x3A else {
            return !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
        }
        return isWebURL(text)
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == 0x2B || byte == 0x2F
    }
}

/// A URL that a tap may open: its scheme selects the app or protocol.
enum AbsoluteURL {
    static let expectation = "expected a URL with a scheme, such as https://example.com/a, app://home or nostr:note1…"
    static let pattern = "^[A-Za-z][A-Za-z0-9+.-]*:[^\\s]+$"

    static func isOne(_ text: String) -> Bool {
        guard let scheme = scheme(of: text) else { return false }
        let rest = text.utf8.dropFirst(scheme.utf8.count + 1)
        return !rest.isEmpty && rest.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }

    /// Returns `text`, or an empty string if missing variables left no URL: `nostr:` without more opens no app.
    static func ifOne(_ text: String) -> String { isOne(text) ? text : "" }

    /// The scheme in lower case; nil if `text` has none.
    static func scheme(of text: String) -> String? {
        let scheme = text.utf8.prefix { $0 != 0x3A }
        guard scheme.count < text.utf8.count, let first = scheme.first, isLetter(first),
            scheme.allSatisfy({ isLetter($0) || (0x30...0x39).contains($0) || [0x2B, 0x2D, 0x2E].contains($0) })
        else { return nil }
        return String(decoding: scheme, as: UTF8.self).lowercased()
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}

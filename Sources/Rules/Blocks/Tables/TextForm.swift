/// What a text must look like where it stands in the file without variables, and what comes of it where there are some.
enum TextForm: Sendable {
    /// In one line.
    case any
    /// With line breaks and tabs, if need be.
    case lines
    case filled
    /// With a scheme, such as `https://example.com` and `app://home`.
    case absoluteURL
    case webURL
    /// The URL of a picture, which may be relative to the web app's own.
    case picture
    /// `#rrggbb`.
    case color
    case base64
    /// A topic of Web Push (RFC 8030, section 5.4).
    case topic

    /// What variables may put in there.
    var place: TextPlace {
        switch self {
        case .any, .filled, .color: .line
        case .lines: .paragraph
        case .absoluteURL, .webURL, .picture: .url
        case .base64, .topic: .identifier
        }
    }

    /// What is wrong with `text`, if anything.
    func mistake(in text: String) -> String? {
        switch self {
        case .any, .lines: nil
        case .filled: text.isEmpty ? "expected a text that is not empty" : nil
        case .absoluteURL: AbsoluteURL.isOne(text) ? nil : AbsoluteURL.expectation
        case .webURL:
            AbsoluteURL.isOne(text) && ["http", "https"].contains(AbsoluteURL.scheme(of: text))
                ? nil : "expected a URL that begins with https:// or http://"
        case .picture:
            isPicture(text)
                ? nil : "expected a URL that begins with https:// or http://, or a path of the app's own site"
        case .color:
            text.utf8.count == 7 && text.first == "#" && text.dropFirst().allSatisfy { $0.isASCII && $0.isHexDigit }
                ? nil : "expected a colour as #rrggbb"
        case .base64:
            !text.isEmpty && text.utf8.count % 4 == 0
                && text.utf8.drop { Self.isBase64($0) }.allSatisfy { $0 == 0x3D }
                && text.utf8.suffix(3).filter { $0 == 0x3D }.count <= 2 ? nil : "expected base64"
        case .topic:
            (1...32).contains(text.utf8.count) && text.utf8.allSatisfy(Self.isBase64URL)
                ? nil : "expected 1 to 32 of A-Z, a-z, 0-9, - and _"
        }
    }

    /// Whether what came of a template can go there.
    func takes(rendered text: String) -> Bool {
        switch self {
        // Another text is made a topic of.
        case .topic: true
        case .any, .lines, .filled, .absoluteURL, .webURL, .picture, .color, .base64: mistake(in: text) == nil
        }
    }

    /// Whether there are texts of which ``takes(rendered:)`` is false.
    var refusesSome: Bool {
        switch self {
        case .any, .lines, .topic: false
        case .filled, .absoluteURL, .webURL, .picture, .color, .base64: true
        }
    }

    /// The same as a regular expression, for the JSON Schema.
    var pattern: String {
        switch self {
        case .any, .lines: ""
        case .filled: "."
        case .absoluteURL: AbsoluteURL.pattern
        case .webURL: "^[Hh][Tt][Tt][Pp][Ss]?:[^\\s]+$"
        case .picture: "^([Hh][Tt][Tt][Pp][Ss]?:[^\\s]+|[^:\\s/]*/[^\\s]*|[^:\\s]+)$"
        case .color: "^#[0-9A-Fa-f]{6}$"
        case .base64: "^[0-9A-Za-z+/]+={0,2}$"
        case .topic: "^[0-9A-Za-z_-]{1,32}$"
        }
    }

    private func isPicture(_ text: String) -> Bool {
        guard let first = text.utf8.firstIndex(where: { $0 == 0x3A || $0 == 0x2F }), text.utf8[first] == 0x3A else {
            return !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
        }
        return Self.webURL.mistake(in: text) == nil
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private static func isBase64(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || byte == 0x2B || byte == 0x2F }

    private static func isBase64URL(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || byte == 0x2D || byte == 0x5F }
}

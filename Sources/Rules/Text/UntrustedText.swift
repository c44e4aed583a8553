/// Makes text that anybody may have written harmless: the result cannot end its line or field, reverse the text around
/// it, or hide anything.
enum UntrustedText {
    /// Longer texts are cut, in bytes: more than any push service takes.
    static let limit = 8192

    /// A text made harmless.
    struct Neutral {
        var text: String
        /// Whether there was more of it.
        var isCut = false
    }

    /// `text`, with line breaks and tabs only if it may have several lines. If it `collapsesBlanks`, several blanks
    /// become one space, and none stay at the ends.
    static func neutral(_ text: String, isMultiline: Bool, collapsesBlanks: Bool = false) -> Neutral {
        if text.utf8.count <= limit, isHarmless(text, isMultiline, collapsesBlanks) { return Neutral(text: text) }
        var neutralizer = TextNeutralizer(isMultiline: isMultiline, collapsesBlanks: collapsesBlanks)
        var room = limit
        for scalar in text.unicodeScalars {
            room -= UTF8.width(scalar)
            // The cut may be inside a character.
            guard room >= 0 else { return Neutral(text: String(neutralizer.text.dropLast()), isCut: true) }
            neutralizer.take(scalar)
        }
        return Neutral(text: neutralizer.text)
    }

    /// Whether it is plain ASCII without anything to change, as most texts are.
    private static func isHarmless(_ text: String, _ isMultiline: Bool, _ collapsesBlanks: Bool) -> Bool {
        var previous: UInt8 = collapsesBlanks ? 0x20 : 0
        for byte in text.utf8 {
            switch byte {
            case 0x20: if collapsesBlanks, previous == 0x20 { return false }
            case 0x21...0x7E: break
            case 0x09, 0x0A: guard isMultiline else { return false }
            default: return false
            }
            previous = byte
        }
        return !collapsesBlanks || previous != 0x20 || text.isEmpty
    }
}

/// The kind of place that a text goes to, and so what untrusted text must not contain there.
enum TextPlace: Sendable {
    /// Shown in one line: titles, labels, most values of a platform's block.
    case line
    /// Shown with line breaks and tabs: bodies.
    case paragraph
    /// Compared by programs: categories, threads, collapse keys, ids, icons.
    case identifier
    /// Part of a URL: the value cannot end its component.
    case url
    /// A whole URL from an untrusted source: only harmless schemes, and nothing that is no URL.
    case wholeURL

    var isMultiline: Bool { self == .paragraph }

    var isForPeople: Bool { self == .line || self == .paragraph }

    /// In bytes: more than any identifier that is compared.
    static let identifierLimit = 256

    /// `text`, which is harmless already, in the form for this place.
    func put(_ text: String) -> String {
        switch self {
        case .line, .paragraph: text
        case .identifier: String(text.beginning(Self.identifierLimit, bytes: Self.identifierLimit))
        case .url: URLText.part(text)
        case .wholeURL: URLText.whole(text)
        }
    }
}

/// Untrusted text in URLs (RFC 3986).
enum URLText {
    /// In bytes, before anything is encoded.
    private static let limit = 1024
    /// The schemes of a URL that comes whole from an untrusted source: none that starts a program with its text.
    private static let schemes = ["https", "http", "nostr", "web+nostr", "lightning", "bitcoin"]

    /// `text` with all but unreserved characters encoded: keys, ids and words stay as they are. Leaves out a segment
    /// that would mean another folder.
    static func part(_ text: String) -> String {
        guard text != ".", text != ".." else { return "" }
        return encoded(text.beginning(limit, bytes: limit)) { isUnreserved($0) }
    }

    /// `text`, encoded, if it is a URL with a harmless scheme; else nothing.
    static func whole(_ text: String) -> String {
        guard text.utf8.count <= limit, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            schemes.contains(text[..<colon].lowercased()), text.utf8.index(after: colon) < text.endIndex
        else { return "" }
        return encoded(text[...]) { isUnreserved($0) || isReserved($0) || $0 == UInt8(ascii: "%") }
    }

    private static func encoded(_ text: Substring, keeping keeps: (UInt8) -> Bool) -> String {
        guard !text.utf8.allSatisfy(keeps) else { return String(text) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 3)
        for byte in text.utf8 {
            if keeps(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 0xF)]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    private static func isReserved(_ byte: UInt8) -> Bool {
        ":/?#[]@!$&'()*+,;=".utf8.contains(byte)
    }
}

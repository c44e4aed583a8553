/// What a tap may open: a URL that says itself by which app or protocol, so that a device needs nothing else to know.
enum AbsoluteURL {
    static let expectation = "expected a URL with a scheme, such as https://example.com/a, app://home or nostr:note1…"
    static let pattern = "^[A-Za-z][A-Za-z0-9+.-]*:[^\\s]+$"

    static func isOne(_ text: String) -> Bool {
        guard let scheme = scheme(of: text) else { return false }
        let rest = text.utf8.dropFirst(scheme.utf8.count + 1)
        return !rest.isEmpty && rest.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }

    /// `text`, or nothing when variables that were not there left no URL: `nostr:` alone opens no app.
    static func ifOne(_ text: String) -> String { isOne(text) ? text : "" }

    /// In lower case; nil when `text` begins with none.
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

/// What a browser reads without knowing where it comes from (URL Standard, "absolute-URL string").
enum AbsoluteURL {
    /// Whether there is a scheme and something behind it, and neither blanks nor control characters.
    static func isOne(_ text: some StringProtocol) -> Bool {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), let first = bytes.first, isLetter(first),
            bytes[..<colon].allSatisfy(isSchemeByte), bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { return false }
        let rest = bytes[bytes.index(after: colon)...]
        switch text[..<colon].lowercased() {
        case "https", "http": return rest.starts(with: "//".utf8) && isHostStart(rest.dropFirst(2).first)
        default: return !rest.isEmpty
        }
    }

    /// Whether it is one of the web's, which a browser can fetch a picture from.
    static func isWebAddress(_ text: some StringProtocol) -> Bool {
        isOne(text) && ["https", "http"].contains(text.prefix { $0 != ":" }.lowercased())
    }

    private static func isHostStart(_ byte: UInt8?) -> Bool {
        switch byte {
        case nil, UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ":"), UInt8(ascii: "@"): false
        default: true
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: isLetter(byte)
        }
    }
}

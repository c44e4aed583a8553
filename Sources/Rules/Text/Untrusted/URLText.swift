/// Strangers' text in URLs (RFC 3986).
enum URLText {
    /// In bytes, before anything is encoded.
    private static let limit = 1024
    /// The schemes that a URL may have which comes from a stranger as a whole: what opens no program with its text.
    private static let schemes = ["https", "http", "nostr", "web+nostr", "lightning", "bitcoin"]

    /// `text` with all but unreserved characters encoded: keys, ids and words stay as they are. A segment that would mean
    /// another folder is left out.
    static func part(_ text: String) -> String {
        guard text != ".", text != ".." else { return "" }
        return encoded(text.beginning(limit, bytes: limit)) { isUnreserved($0) }
    }

    /// `text` if it is a URL of a harmless scheme, what a URL cannot hold encoded; else nothing.
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

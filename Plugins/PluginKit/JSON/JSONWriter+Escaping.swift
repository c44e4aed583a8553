extension JSONWriter {
    private static let ellipsis = "…"

    /// Appends UTF-8 with what RFC 8259 section 7 wants escaped, in runs of bytes that need nothing.
    mutating func appendEscaped(_ text: UnsafeBufferPointer<UInt8>) {
        var start = 0
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                index += 1
                continue
            }
            bytes.append(contentsOf: text[start..<index])
            appendEscape(of: byte)
            index += 1
            start = index
        }
        bytes.append(contentsOf: text[start...])
    }

    private mutating func appendEscape(of byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20:
            let digits: StaticString = "0123456789abcdef"
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(digits.utf8Start[Int(byte >> 4)])
            bytes.append(digits.utf8Start[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }

    /// As much of `text` as becomes at most `limit` bytes of JSON, `…` at the end included if anything had to go;
    /// nothing when there is no room for the first character and `…`.
    static func shorten(_ text: String, limit: Int) -> String {
        let roomBeforeEllipsis = limit - ellipsis.utf8.count
        var written = 0
        var cut = text.startIndex
        var index = text.startIndex
        while index < text.endIndex {
            for byte in text[index].utf8 {
                written += escapedLength(of: byte)
            }
            if written > limit {
                return cut == text.startIndex ? "" : text[..<cut] + ellipsis
            }
            index = text.index(after: index)
            if written <= roomBeforeEllipsis {
                cut = index
            }
        }
        return text
    }

    private static func escapedLength(of byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x08, 0x09, 0x0A, 0x0C, 0x0D: 2
        case 0..<0x20: 6
        default: 1
        }
    }
}

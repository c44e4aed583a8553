/// What may stand in a message's head (RFC 9110, sections 5.1, 5.5 and 5.6.2).
enum FieldForm {
    struct Flaws: OptionSet {
        let rawValue: UInt8

        /// Written into a message it would change the message's shape.
        static let malformed = Flaws(rawValue: 1)
        static let notASCII = Flaws(rawValue: 0x80)
    }

    /// A name is a token in lower case.
    static func flaws(ofName name: UnsafeBufferPointer<UInt8>) -> Flaws {
        guard !name.isEmpty else { return .malformed }
        var flaws: Flaws = []
        for byte in name where byte &- 0x61 >= 26 && byte != UInt8(ascii: "-") {
            if byte >= 0x80 {
                flaws.formUnion([.malformed, .notASCII])
            } else if !isDigitOrMark(byte) {
                flaws.formUnion(.malformed)
            }
        }
        return flaws
    }

    /// A value holds no control character but the tab. Without branches or an early exit, so that many bytes are looked at
    /// at a time.
    static func flaws(ofValue value: UnsafeBufferPointer<UInt8>) -> Flaws {
        var flaws: UInt8 = 0
        for byte in value {
            flaws |= (byte < 0x20 ? 1 : 0) & (byte == 0x09 ? 0 : 1)
            flaws |= byte == 0x7f ? 1 : 0
            flaws |= byte & 0x80
        }
        return Flaws(rawValue: flaws)
    }

    /// A method is a token in whatever case.
    static func isMethod(_ method: String) -> Bool {
        !method.isEmpty && method.utf8.allSatisfy { ($0 | 0x20) &- 0x61 < 26 || isDigitOrMark($0) }
    }

    private static func isDigitOrMark(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

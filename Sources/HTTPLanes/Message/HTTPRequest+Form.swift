extension HTTPRequest {
    /// Whether method and headers can be written into a message without changing its shape: tokens as names, no control
    /// characters in values (RFC 9110, sections 5.5 and 5.6.2).
    var isWellFormed: Bool {
        Self.isToken(method, allowsUpperCase: true)
            && headers.allSatisfy { Self.isToken($0.name, allowsUpperCase: false) && Self.isValue($0.value) }
    }

    private static func isToken(_ text: String, allowsUpperCase: Bool) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                    UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"),
                    UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "|"),
                    UInt8(ascii: "~"):
                    true
                case UInt8(ascii: "A")...UInt8(ascii: "Z"):
                    allowsUpperCase
                default:
                    false
                }
            }
    }

    private static func isValue(_ text: String) -> Bool {
        // Without an early exit, so that it is done many bytes at a time.
        text.utf8.reduce(true) { $0 && ($1 >= 0x20 || $1 == 0x09) && $1 != 0x7f }
    }
}

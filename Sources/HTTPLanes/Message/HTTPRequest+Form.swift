extension HTTPRequest {
    /// Whether method and headers can be written into a message without changing its shape: tokens as names, no control
    /// characters in values (RFC 9110, sections 5.5 and 5.6.2).
    var isWellFormed: Bool {
        Self.isToken(method, allowsUpperCase: true)
            && headers.allSatisfy { Self.isToken($0.name, allowsUpperCase: false) && Self.isValue($0.value) }
    }

    private static func isToken(_ text: String, allowsUpperCase: Bool) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { tokenBytes[Int($0)] && (allowsUpperCase || $0 &- 0x41 > 25) }
    }

    private static func isValue(_ text: String) -> Bool {
        text.utf8.withContiguousStorageIfAvailable(isValue) ?? Array(text.utf8).withUnsafeBufferPointer(isValue)
    }

    /// Without branches or an early exit, so that many bytes are looked at at a time.
    private static func isValue(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var bad: UInt8 = 0
        for byte in bytes {
            bad |= (byte < 0x20 ? 1 : 0) & (byte == 0x09 ? 0 : 1)
            bad |= byte == 0x7f ? 1 : 0
        }
        return bad == 0
    }

    private static let tokenBytes: [Bool] = {
        let marks = Array("!#$%&'*+-.^_`|~".utf8)
        return (0...255).map { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default:
                marks.contains(byte)
            }
        }
    }()
}

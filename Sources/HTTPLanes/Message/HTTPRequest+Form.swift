extension HTTPRequest {
    /// Whether method and headers can be written into a message without changing its shape: tokens as names, no control
    /// characters in values (RFC 9110, sections 5.5 and 5.6.2).
    var isWellFormed: Bool {
        Self.isToken(method, allowsUpperCase: true)
            && headers.allSatisfy { Self.isToken($0.name, allowsUpperCase: false) && Self.isValue($0.value) }
    }

    private static func isToken(_ text: String, allowsUpperCase: Bool) -> Bool {
        !text.isEmpty && text.everyByte { tokenBytes[Int($0)] && (allowsUpperCase || $0 &- 0x41 > 25) }
    }

    private static func isValue(_ text: String) -> Bool {
        text.everyByte { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7f }
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

extension String {
    /// Whether all UTF-8 code units pass. Without an early exit, so that many are looked at at a time.
    @inline(__always)
    fileprivate func everyByte(_ passes: (UInt8) -> Bool) -> Bool {
        utf8.withContiguousStorageIfAvailable { bytes in
            var all = true
            for byte in bytes { all = passes(byte) && all }
            return all
        } ?? utf8.allSatisfy(passes)
    }
}

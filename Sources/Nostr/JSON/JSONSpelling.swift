/// How the text of a string is written.
enum JSONSpelling {
    /// As it is, without escapes.
    case plain
    /// With the seven escapes of NIP-01, and `\u00xx` for other control characters, as JSON encoders write them.
    case escaped
    /// With the seven escapes of NIP-01, and everything else verbatim, which is what NIP-01 says. Not JSON when there
    /// are other control characters.
    case verbatim

    func append(_ scalar: Unicode.Scalar, to text: inout [UInt8]) {
        if scalar.value < 0x80, appendEscape(of: UInt8(truncatingIfNeeded: scalar.value), to: &text) { return }
        if let units = Unicode.UTF8.encode(scalar) { text.append(contentsOf: units) }
    }

    /// Appends the text of a whole string, without its quotation marks.
    func append(_ string: String, to text: inout [UInt8]) {
        var string = string
        string.withUTF8 { bytes in
            var run = 0
            for (index, byte) in bytes.enumerated() where Self.mayNeedEscape(byte) {
                text.append(contentsOf: bytes[run..<index])
                if !appendEscape(of: byte, to: &text) { text.append(byte) }
                run = index + 1
            }
            text.append(contentsOf: bytes[run...])
        }
    }

    private static func mayNeedEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Returns whether `byte` is written with an escape.
    private func appendEscape(of byte: UInt8, to text: inout [UInt8]) -> Bool {
        guard self != .plain, Self.mayNeedEscape(byte) else { return false }
        switch byte {
        case 0x0a: text.append(contentsOf: "\\n".utf8)
        case 0x22: text.append(contentsOf: "\\\"".utf8)
        case 0x5c: text.append(contentsOf: "\\\\".utf8)
        case 0x0d: text.append(contentsOf: "\\r".utf8)
        case 0x09: text.append(contentsOf: "\\t".utf8)
        case 0x08: text.append(contentsOf: "\\b".utf8)
        case 0x0c: text.append(contentsOf: "\\f".utf8)
        default:
            guard self == .escaped else { return false }
            text.append(contentsOf: byte < 0x10 ? "\\u000".utf8 : "\\u001".utf8)
            let digit = byte & 0x0f
            text.append(digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10))
        }
        return true
    }
}

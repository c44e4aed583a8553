import PluginKit

/// The body of a message: plain text in UTF-8, encoded so that mail servers take it (RFC 2045).
struct TextBody: Sendable {
    /// What a message's body may be written as.
    enum Encoding: String, Sendable {
        /// ASCII as it is, in short lines.
        case sevenBit = "7bit"
        /// UTF-8 as it is, where the mail server offers 8BITMIME (RFC 6152).
        case eightBit = "8bit"
        case quotedPrintable = "quoted-printable"
        case base64
    }

    /// Of quoted-printable and base64, without the line's end.
    private static let width = 76
    /// Of a line that goes out as it is; servers have to take 998.
    private static let longestLine = 900

    private let lines: [Substring]
    private let isASCII: Bool
    private let isShort: Bool

    /// Takes any text. Other control characters than line breaks and tabs are left out.
    init(_ text: String) {
        var clean = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x0A, 0x09, 0x20...0x7E, 0xA0...: clean.unicodeScalars.append(scalar)
            case 0x0D, 0x85: break
            default: break
            }
        }
        lines = clean.split(separator: "\n", omittingEmptySubsequences: false)
        isASCII = clean.utf8.allSatisfy { $0 < 0x80 }
        isShort = lines.allSatisfy { $0.utf8.count <= TextBody.longestLine }
    }

    /// The best encoding; `allows8Bit`: the mail server offers 8BITMIME.
    func encoding(allows8Bit: Bool) -> Encoding {
        if isShort, isASCII { return .sevenBit }
        if isShort, allows8Bit { return .eightBit }
        let byteCount = lines.reduce(0) { $0 + $1.utf8.count }
        let foreign = lines.reduce(0) { $0 + $1.utf8.count { $0 >= 0x80 } }
        return foreign * 6 <= byteCount ? .quotedPrintable : .base64
    }

    /// The body in an encoding, with CR and LF after each line.
    func write(_ encoding: Encoding, to bytes: inout [UInt8]) {
        switch encoding {
        case .sevenBit, .eightBit:
            for line in lines {
                bytes += line.utf8
                bytes += TextBody.end
            }
        case .quotedPrintable:
            for line in lines { TextBody.quote([UInt8](line.utf8), to: &bytes) }
        case .base64:
            let text = lines.joined(separator: "\r\n") + "\r\n"
            let encoded = [UInt8](Base64Alphabet.standard.encode([UInt8](text.utf8), padded: true).utf8)
            for start in stride(from: 0, to: encoded.count, by: TextBody.width) {
                bytes += encoded[start..<min(start + TextBody.width, encoded.count)]
                bytes += TextBody.end
            }
        }
    }

    private static let end = [UInt8(ascii: "\r"), UInt8(ascii: "\n")]

    /// One line in quoted-printable (RFC 2045 section 6.7).
    private static func quote(_ line: [UInt8], to bytes: inout [UInt8]) {
        let hex = [UInt8]("0123456789ABCDEF".utf8)
        var column = 0
        for (index, byte) in line.enumerated() {
            let isBlank = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            let isPlain = isBlank ? index + 1 < line.count : byte.isVisibleASCII && byte != UInt8(ascii: "=")
            // A soft break needs the last column.
            if column + (isPlain ? 1 : 3) > width - 1 {
                bytes.append(UInt8(ascii: "="))
                bytes += end
                column = 0
            }
            if isPlain {
                bytes.append(byte)
                column += 1
            } else {
                bytes += [UInt8(ascii: "="), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
                column += 3
            }
        }
        bytes += end
    }
}

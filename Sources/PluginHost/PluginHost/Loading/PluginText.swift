import CarillonABI
import Glibc

/// Sanitizes text from a plugin and limits its length before it is shown.
///
/// A `size_t` is an `Int` here, so a length of more than half the address space is negative.
package enum PluginText {
    /// Whether `text` is a name of 1 to `limit` bytes without control characters.
    static func isName(_ text: String, limit: Int) -> Bool {
        (1...limit).contains(text.utf8.count) && text.unicodeScalars.allSatisfy(isPrintable)
    }

    /// Whether `text` is a word of 1 to 64 of `a-z`, `0-9`, `-` and `_`, as in configuration and registrations.
    static func isWord(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { isWordByte($0) || $0 == UInt8(ascii: "_") }
    }

    /// The first 512 bytes of a plugin's error message, as one line.
    static func words(_ reply: PluginReply) -> String {
        let line = printable(String(decoding: reply.text.utf8.prefix(512), as: UTF8.self))
        return line.isEmpty ? "no error message (status \(reply.status.rawValue))" : line
    }

    /// `text` as UTF-8 of up to `limit` bytes; nil if it is longer, not UTF-8, or NULL with a length.
    package static func string(_ text: carillon_str, limit: Int) -> String? {
        guard text.len != 0 else { return "" }
        guard text.len > 0, text.len <= limit, let start = text.ptr else { return nil }
        // `String(validating:as:)` uses unspecialized generics, which cost more than everything else here.
        let bytes = UnsafeRawBufferPointer(start: start, count: text.len)
        var string = String(decoding: bytes, as: UTF8.self)
        let isUnrepaired = string.withUTF8 { decoded in
            guard decoded.count == bytes.count, let first = decoded.baseAddress else { return false }
            return memcmp(first, start, bytes.count) == 0
        }
        return isUnrepaired ? string : nil
    }

    /// The first `limit` bytes of `text` as one readable line: broken UTF-8 and control characters become U+FFFD.
    package static func line(_ text: carillon_str, limit: Int) -> String {
        guard text.len > 0, let start = text.ptr else { return "" }
        let bytes = UnsafeRawBufferPointer(start: start, count: min(text.len, limit))
        let line = printable(String(decoding: bytes, as: UTF8.self))
        return text.len > limit ? line + "…" : line
    }

    /// The first `limit` bytes of `text` as readable lines: broken UTF-8 and other control characters become U+FFFD.
    static func page(_ text: carillon_str, limit: Int) -> String {
        guard text.len > 0, let start = text.ptr else { return "" }
        let page = String(decoding: UnsafeRawBufferPointer(start: start, count: min(text.len, limit)), as: UTF8.self)
        return replacingUnprintable(in: page) { $0 == "\n" || $0 == "\t" }
    }

    /// `text` without characters that could move a terminal's cursor, start a line or change the writing direction;
    /// each is replaced.
    package static func printable(_ text: String) -> String {
        replacingUnprintable(in: text) { _ in false }
    }

    /// The first `limit` bytes of `text` as one readable line.
    package static func printable(_ text: String, limit: Int) -> String {
        let isShort = text.utf8.count <= limit
        return printable(isShort ? text : String(decoding: text.utf8.prefix(limit), as: UTF8.self) + "…")
    }

    private static func replacingUnprintable(
        in text: String,
        but isAllowed: (Unicode.Scalar) -> Bool
    ) -> String {
        guard !text.unicodeScalars.allSatisfy({ isPrintable($0) || isAllowed($0) }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            result.append(isPrintable(scalar) || isAllowed(scalar) ? scalar : "\u{FFFD}")
        }
        return String(result)
    }

    /// Lower case letters, digits and the hyphen, as allowed in a metric's label.
    package static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x2028, 0x2029, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069: false
        default: true
        }
    }
}

import CarillonABI
import Glibc

/// Text that comes out of a plugin: bounded and harmless before anybody sees it.
///
/// A `size_t` comes as `Int`, so that a length of more than half the address space is a negative one here.
package enum PluginText {
    /// Whether `text` is a name of 1 to `limit` bytes without control characters.
    static func isName(_ text: String, limit: Int) -> Bool {
        (1...limit).contains(text.utf8.count) && text.unicodeScalars.allSatisfy(isPrintable)
    }

    /// Whether `text` is a word of 1 to 64 of `a-z`, `0-9`, `-` and `_`, as configuration and registrations use.
    static func isWord(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { isWordByte($0) || $0 == UInt8(ascii: "_") }
    }

    /// The first 512 bytes of what a plugin says is wrong, as one line.
    static func words(_ reply: PluginReply) -> String {
        let line = printable(String(decoding: reply.text.utf8.prefix(512), as: UTF8.self))
        return line.isEmpty ? "it does not say why (status \(reply.status.rawValue))" : line
    }

    /// `text` as UTF-8 of at most `limit` bytes; nil when it is longer, not UTF-8, or NULL with a length.
    package static func string(_ text: carillon_str, limit: Int) -> String? {
        guard text.len != 0 else { return "" }
        guard text.len > 0, text.len <= limit, let start = text.ptr else { return nil }
        // `String(validating:as:)` does the same through unspecialised generics, which costs more than the whole rest.
        let bytes = UnsafeRawBufferPointer(start: start, count: text.len)
        var string = String(decoding: bytes, as: UTF8.self)
        let isUnrepaired = string.withUTF8 { decoded in
            guard decoded.count == bytes.count, let first = decoded.baseAddress else { return false }
            return memcmp(first, start, bytes.count) == 0
        }
        return isUnrepaired ? string : nil
    }

    /// The first `limit` bytes of `text` as one line for people: broken UTF-8 and control characters become U+FFFD.
    package static func line(_ text: carillon_str, limit: Int) -> String {
        guard text.len > 0, let start = text.ptr else { return "" }
        let bytes = UnsafeRawBufferPointer(start: start, count: min(text.len, limit))
        let line = printable(String(decoding: bytes, as: UTF8.self))
        return text.len > limit ? line + "…" : line
    }

    /// The first `limit` bytes of `text` for people, in lines: broken UTF-8 and other control characters become U+FFFD.
    static func page(_ text: carillon_str, limit: Int) -> String {
        guard text.len > 0, let start = text.ptr else { return "" }
        let page = String(decoding: UnsafeRawBufferPointer(start: start, count: min(text.len, limit)), as: UTF8.self)
        return replacingUnprintable(in: page) { $0 == "\n" || $0 == "\t" }
    }

    /// `text` with everything replaced that could move a terminal's cursor, start a line or turn the writing direction.
    package static func printable(_ text: String) -> String {
        replacingUnprintable(in: text) { _ in false }
    }

    /// The first `limit` bytes of `text` as one line for people.
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

    /// Lower case letters, digits and the hyphen: what a metric's label may hold.
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

import CarillonABI
import Glibc

/// Text that comes out of a plugin: bounded and harmless before anybody sees it.
///
/// A `size_t` comes as `Int`, so that a length of more than half the address space is a negative one here.
package enum PluginText {
    /// `text` as a name of 1 to `limit` bytes of UTF-8 without control characters; nil otherwise.
    static func name(_ text: carillon_str, limit: Int) -> String? {
        guard let name = string(text, limit: limit), !name.isEmpty else { return nil }
        return name.unicodeScalars.allSatisfy(isPrintable) ? name : nil
    }

    /// `text` as a word of 1 to 64 of `a-z`, `0-9`, `-` and `_`, as configuration and registrations use; nil otherwise.
    static func word(_ text: carillon_str) -> String? {
        guard let word = string(text, limit: 64), !word.isEmpty else { return nil }
        return word.utf8.allSatisfy { isWordByte($0) || $0 == UInt8(ascii: "_") } ? word : nil
    }

    /// At most `limit` bytes where they are; nil when there are more, or NULL with a length.
    package static func bytes(_ bytes: carillon_bytes, limit: Int) -> UnsafeBufferPointer<UInt8>? {
        guard bytes.len != 0 else { return UnsafeBufferPointer(start: nil, count: 0) }
        guard bytes.len > 0, bytes.len <= limit, let start = bytes.ptr else { return nil }
        return UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: bytes.len)
    }

    static func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        (try? UTF8Span(validating: bytes.span)) != nil
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

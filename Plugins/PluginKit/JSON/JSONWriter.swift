import JSON

/// Writes compact JSON in one pass. It adds commas automatically; the caller must close objects and arrays.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.beginObject()
/// writer.member("title", notification.title)
/// writer.endObject()
/// ```
public struct JSONWriter {
    /// The text so far, in UTF-8.
    public private(set) var bytes: [UInt8]
    private var needsComma = false

    private static let ellipsis = "…"

    /// Makes an empty writer with capacity for `capacity` bytes.
    public init(reservingBytes capacity: Int = 1024) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Opens an object; the caller must end it.
    public mutating func beginObject() { open(UInt8(ascii: "{")) }

    /// Ends the innermost object.
    public mutating func endObject() { close(UInt8(ascii: "}")) }

    /// Opens an array; the caller must end it.
    public mutating func beginArray() { open(UInt8(ascii: "[")) }

    /// Ends the innermost array.
    public mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes a member's name that needs no escapes.
    public mutating func key(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a member's name, with escapes if needed.
    public mutating func key(escaping name: String) {
        string(name)
        endKey()
    }

    /// Writes the name of another object's member unchanged.
    public mutating func key(of member: JSONMember) {
        separate()
        bytes.append(contentsOf: member.rawKey)
        endKey()
    }

    /// Writes another object's member unchanged.
    public mutating func member(_ member: JSONMember) {
        separate()
        bytes.append(contentsOf: member.rawKey)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: member.value.raw)
        needsComma = true
    }

    /// Writes all members of another object unchanged, in one copy.
    public mutating func members(of object: JSONObject) {
        guard !object.isEmpty else { return }
        separate()
        bytes.append(contentsOf: object.inside)
        needsComma = true
    }

    /// Writes a string. Returns its length as JSON in bytes, without its quotes.
    @discardableResult
    public mutating func string(_ text: BorrowedText) -> Int {
        guard let valid = try? UTF8Span(validating: text.bytes.bindMemory(to: UInt8.self).span) else {
            return string(text.string)
        }
        return quoted { writer in
            valid.span.withUnsafeBufferPointer { JSONSpelling.escaped.append($0, to: &writer.bytes) }
        }
    }

    /// Writes a string. Returns its length as JSON in bytes, without its quotes.
    @discardableResult
    public mutating func string(_ text: String) -> Int {
        var text = text
        return quoted { writer in
            text.withUTF8 { JSONSpelling.escaped.append($0, to: &writer.bytes) }
        }
    }

    /// Writes a string of up to `limit` bytes of JSON, without its quotes. A longer one is truncated between two
    /// characters and ends in `…`; if not even its first character fits, it is empty. Returns its length in bytes.
    @discardableResult
    public mutating func string(_ text: BorrowedText, limit: Int?) -> Int {
        guard let limit else { return string(text) }
        return string(JSONWriter.shorten(text.string, limit: limit))
    }

    public mutating func integer(_ value: some BinaryInteger) {
        separate()
        bytes.append(contentsOf: String(value).utf8)
        needsComma = true
    }

    public mutating func bool(_ value: Bool) {
        separate()
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
        needsComma = true
    }

    /// Writes a parsed value unchanged.
    public mutating func value(_ value: JSONValue) {
        separate()
        bytes.append(contentsOf: value.raw)
        needsComma = true
    }

    /// Writes an object with the members of another, unchanged.
    public mutating func object(_ object: JSONObject) {
        beginObject()
        members(of: object)
        endObject()
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma {
            bytes.append(UInt8(ascii: ","))
        }
    }

    private mutating func endKey() {
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func quoted(_ write: (inout JSONWriter) -> Void) -> Int {
        separate()
        bytes.append(UInt8(ascii: "\""))
        let start = bytes.count
        write(&self)
        let count = bytes.count - start
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
        return count
    }

    /// Truncates `text` to at most `limit` bytes of JSON, including a `…` at the end. Returns an empty string if the
    /// first character and `…` do not fit.
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

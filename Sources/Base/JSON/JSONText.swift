/// A writer for JSON text without whitespace and with as few escapes as NIP-01 allows.
public struct JSONText {
    public var bytes: [UInt8] = []
    public let spelling: JSONSpelling

    public init(spelling: JSONSpelling = .escaped) {
        self.spelling = spelling
    }

    public mutating func appendQuoted(_ string: String) {
        append("\"")
        spelling.append(string, to: &bytes)
        append("\"")
    }

    /// Returns `string` as JSON, with its quotes.
    package static func quoted(_ string: String) -> String {
        var text = JSONText()
        text.appendQuoted(string)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    @inlinable public mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inlinable public mutating func append(_ number: some BinaryInteger) {
        guard let natural = UInt64(exactly: number) else {
            var digits = String(number)
            return digits.withUTF8 { bytes.append(contentsOf: $0) }
        }
        append(natural: natural)
    }

    /// Appends a finite number, without a fraction if it has none.
    package mutating func append(_ number: Double) {
        if let whole = Int64(exactly: number) { append(whole) } else { bytes += String(number).utf8 }
    }

    package mutating func append(_ flag: Bool) { append(flag ? "true" : "false") }

    /// Writes the digits directly, because making a string takes longer than an event's other fields.
    @usableFromInline mutating func append(natural: UInt64) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var (rest, first) = (natural, digits.count)
            repeat {
                first &-= 1
                digits[first] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            bytes.append(contentsOf: digits[first...])
        }
    }

    @inlinable public mutating func appendArray<Element>(
        _ elements: [Element],
        _ appendElement: (inout JSONText, Element) -> Void
    ) {
        append("[")
        for (index, element) in elements.enumerated() {
            if index > 0 { append(",") }
            appendElement(&self, element)
        }
        append("]")
    }

    public mutating func append(_ arrays: [[String]]) {
        append("[")
        for (index, strings) in arrays.enumerated() {
            append(index == 0 ? "[" : ",[")
            for (index, string) in strings.enumerated() {
                if index > 0 { append(",") }
                appendQuoted(string)
            }
            append("]")
        }
        append("]")
    }
}

/// The spelling of a string.
public enum JSONSpelling {
    /// Unchanged, without escapes.
    case plain
    /// With the seven escapes of NIP-01, and `\u00xx` for other control characters, as JSON encoders write them.
    case escaped
    /// With the seven escapes of NIP-01 and everything else verbatim, as NIP-01 requires. Not valid JSON if there are
    /// other control characters.
    case verbatim

    public func append(_ scalar: Unicode.Scalar, to text: inout [UInt8]) {
        if scalar.value < 0x80, appendEscape(of: UInt8(truncatingIfNeeded: scalar.value), to: &text) { return }
        if let units = Unicode.UTF8.encode(scalar) { text.append(contentsOf: units) }
    }

    /// Appends a whole string, without quotation marks.
    public func append(_ string: String, to text: inout [UInt8]) {
        var string = string
        string.withUTF8 { append($0, to: &text) }
    }

    /// Appends a whole UTF-8 string, without quotation marks.
    public func append(_ string: UnsafeBufferPointer<UInt8>, to text: inout [UInt8]) {
        var run = 0
        var index = 0
        // Avoid enumerated(), which is several times slower in unoptimized builds and so in tests.
        while index < string.count {
            let byte = string[index]
            if Self.mayNeedEscape(byte) {
                text.append(contentsOf: string[run..<index])
                if !appendEscape(of: byte, to: &text) { text.append(byte) }
                run = index + 1
            }
            index += 1
        }
        text.append(contentsOf: string[run...])
    }

    private static func mayNeedEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Appends the escape of `byte`, if it needs one. Returns whether it does.
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

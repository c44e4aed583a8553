/// A value of a checked JSON text, decoded when it is read.
public struct JSONValue: Sendable {
    /// As it stands in the text, without blanks around it.
    public let raw: ArraySlice<UInt8>

    /// What kind of value it is, in words fit for an error: it never quotes the value.
    public var kind: String {
        switch raw.first {
        case UInt8(ascii: "\""): "text"
        case UInt8(ascii: "{"): "a mapping"
        case UInt8(ascii: "["): "a list"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): "true or false"
        case UInt8(ascii: "n"): "nothing"
        default: "a number"
        }
    }

    /// Whether it is `null`.
    public var isNull: Bool { raw.first == UInt8(ascii: "n") }

    /// Whether it is an object.
    public var isObject: Bool { raw.first == UInt8(ascii: "{") }

    /// Whether it is a string.
    public var isString: Bool { raw.first == UInt8(ascii: "\"") }

    /// How many bytes a text has as JSON, without its quotes; 0 for what is no text.
    public var textLength: Int { isString ? raw.count - 2 : 0 }

    /// The text of a string, with escapes resolved; nil for other values.
    public var string: String? {
        guard isString else { return nil }
        return String(decoding: JSONString.unescape(raw), as: UTF8.self)
    }

    /// The value of `true` and `false`; nil for other values.
    public var bool: Bool? {
        switch raw.first {
        case UInt8(ascii: "t"): true
        case UInt8(ascii: "f"): false
        default: nil
        }
    }

    /// Whole numbers without point and exponent, within 64 bits.
    public var integer: Int64? { Int64(String(decoding: raw, as: UTF8.self)) }

    /// The value of a number, rounded to the nearest double; nil for other values.
    public var number: Double? {
        guard let first = raw.first, first == UInt8(ascii: "-") || first.isASCIIDigit else {
            return nil
        }
        return Double(String(decoding: raw, as: UTF8.self))
    }

    /// The object that it is, or nil when it is none, or one with two members of a name.
    public var object: JSONObject? {
        guard isObject else { return nil }
        return try? JSONObject(bytes: [UInt8](raw))
    }

    /// The elements of the list that it is, or nil when it is none.
    public var elements: [JSONValue]? {
        guard raw.first == UInt8(ascii: "[") else { return nil }
        let ranges = raw.withUnsafeBytes { try? JSONValue.elements(in: $0) }
        return ranges?.map { range in
            JSONValue(raw: raw[raw.startIndex + range.lowerBound..<raw.startIndex + range.upperBound])
        }
    }

    private static func elements(in list: UnsafeRawBufferPointer) throws(JSONError) -> [Range<Int>] {
        var scanner = JSONScanner(list, from: 1)
        var elements: [Range<Int>] = []
        scanner.skipBlanks()
        if scanner.skip(UInt8(ascii: "]")) { return elements }
        repeat {
            elements.append(try scanner.value(depth: 2))
            scanner.skipBlanks()
        } while scanner.skip(UInt8(ascii: ","))
        return elements
    }
}

/// The inside of JSON strings that were checked before.
enum JSONString {
    /// What a string that is given with its quotes says, as UTF-8.
    static func unescape(_ raw: ArraySlice<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(raw.count)
        var rest = raw.dropFirst().dropLast()
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let kind = rest.popFirst() else {
                text.append(byte)
                continue
            }
            switch kind {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"): text.append(contentsOf: scalar(&rest).utf8)
            default: text.append(kind)
            }
        }
        return text
    }

    /// The character behind `\u`, of one or two units.
    private static func scalar(_ rest: inout ArraySlice<UInt8>) -> String {
        let first = unit(&rest)
        guard (0xD800...0xDBFF).contains(first) else { return String(decoding: [first], as: UTF16.self) }
        rest = rest.dropFirst(2)
        return String(decoding: [first, unit(&rest)], as: UTF16.self)
    }

    private static func unit(_ rest: inout ArraySlice<UInt8>) -> UInt16 {
        var value: UInt16 = 0
        for byte in rest.prefix(4) {
            value = value << 4 | UInt16(byte.hexDigitValue ?? 0)
        }
        rest = rest.dropFirst(4)
        return value
    }
}

/// One member of an object, as it stands in the text.
public struct JSONMember: Sendable {
    /// The name as JSON, with its quotes and escapes.
    public let rawKey: ArraySlice<UInt8>
    /// What stands behind the colon.
    public let value: JSONValue

    /// The name.
    public var key: String { String(decoding: JSONString.unescape(rawKey), as: UTF8.self) }
}

/// Why a text is not the JSON that was expected, and where. It never quotes the text.
public struct JSONError: Error, CustomStringConvertible, Sendable, Hashable {
    /// What should have been there.
    public let expected: String
    /// Bytes from the start of the text.
    public let position: Int

    /// What was expected, and at which byte of the text.
    public var description: String { "expected \(expected) at byte \(position)" }
}

import JSON

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
        return String(decoding: raw.unescaped, as: UTF8.self)
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
        var reader = try JSONReader<JSONError>(list, at: 1)
        var elements: [Range<Int>] = []
        reader.skipWhitespace()
        if reader.take("]") { return elements }
        repeat {
            reader.skipWhitespace()
            let start = reader.position
            try reader.skipValue()
            elements.append(start..<reader.position)
            reader.skipWhitespace()
        } while reader.take(",")
        return elements
    }
}

extension ArraySlice<UInt8> {
    /// What a JSON string with its quotes says, as UTF-8.
    var unescaped: [UInt8] {
        withUnsafeBytes { text in
            guard var reader = try? JSONReader<JSONError>(text), let string = try? reader.string() else { return [] }
            return reader.bytes(string)
        }
    }
}

/// One member of an object, as it stands in the text.
public struct JSONMember: Sendable {
    /// The name as JSON, with its quotes and escapes.
    public let rawKey: ArraySlice<UInt8>
    /// What stands behind the colon.
    public let value: JSONValue

    /// The name.
    public var key: String { String(decoding: rawKey.unescaped, as: UTF8.self) }
}

/// Why a text is not the JSON that was expected, and where. It never quotes the text.
public struct JSONError: Error, CustomStringConvertible, Sendable, Hashable {
    /// What should have been there.
    public let expected: String
    /// Bytes from the start of the text.
    public let position: Int

    init(expected: String, position: Int) {
        self.expected = expected
        self.position = position
    }

    /// What was expected, and at which byte of the text.
    public var description: String { "expected \(expected) at byte \(position)" }
}

extension JSONError: JSONSyntaxErrorConvertible {
    /// The same mistake as the reader's.
    public init(_ fault: JSONSyntaxError) {
        self.init(expected: fault.expectation.rawValue, position: fault.offset)
    }
}

/// A JSON pointer (RFC 6901) into an object.
public struct JSONPointer: Sendable, Hashable {
    private let names: [String]

    /// Nil for a text that does not begin with `/`.
    public init?(_ text: String) {
        guard text.hasPrefix("/") else { return nil }
        names = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { name in
            name.split(separator: "~1", omittingEmptySubsequences: false).map { part in
                part.split(separator: "~0", omittingEmptySubsequences: false).joined(separator: "~")
            }.joined(separator: "/")
        }
    }

    /// The value that it leads to; nil where there is none.
    public func value(in object: JSONObject) -> JSONValue? {
        var value = object[named: names[0]]
        for name in names.dropFirst() {
            if let elements = value?.elements {
                value = Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            } else {
                value = value?.object?[named: name]
            }
        }
        return value
    }
}

import JSON

/// A value of a validated JSON text, decoded on access.
public struct JSONValue: Sendable {
    /// The value's text, without surrounding white space.
    public let raw: ArraySlice<UInt8>

    /// The type of the value, as a word for errors; it never contains the value.
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

    public var isNull: Bool { raw.first == UInt8(ascii: "n") }

    public var isObject: Bool { raw.first == UInt8(ascii: "{") }

    public var isString: Bool { raw.first == UInt8(ascii: "\"") }

    /// The length of a string as JSON in bytes, without its quotes; 0 for other values.
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

    /// The value of an integer without point and exponent, within 64 bits; nil for other values.
    public var integer: Int64? { Int64(String(decoding: raw, as: UTF8.self)) }

    /// The value of a number, rounded to the nearest double; nil for other values.
    public var number: Double? {
        guard let first = raw.first, first == UInt8(ascii: "-") || first.isASCIIDigit else {
            return nil
        }
        return Double(String(decoding: raw, as: UTF8.self))
    }

    /// The object, or nil if the value is not an object or has duplicate names.
    public var object: JSONObject? {
        guard isObject else { return nil }
        return try? JSONObject(bytes: [UInt8](raw))
    }

    /// The elements of an array, or nil for other values.
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
    /// The decoded UTF-8 of a JSON string with its quotes.
    var unescaped: [UInt8] {
        withUnsafeBytes { text in
            guard var reader = try? JSONReader<JSONError>(text), let string = try? reader.string() else { return [] }
            return reader.bytes(string)
        }
    }
}

/// One member of an object, as written in the text.
public struct JSONMember: Sendable {
    /// The name as JSON, with its quotes and escapes.
    public let rawKey: ArraySlice<UInt8>
    /// The value after the colon.
    public let value: JSONValue

    /// The decoded name.
    public var key: String { String(decoding: rawKey.unescaped, as: UTF8.self) }
}

/// An error about a text that is not the expected JSON, with its position. It never quotes the text.
public struct JSONError: Error, CustomStringConvertible, Sendable, Hashable {
    /// The expected token or value.
    public let expected: String
    /// The offset from the start of the text, in bytes.
    public let position: Int

    init(expected: String, position: Int) {
        self.expected = expected
        self.position = position
    }

    /// The expected token or value, and the byte offset.
    public var description: String { "expected \(expected) at byte \(position)" }
}

extension JSONError: JSONSyntaxErrorConvertible {
    /// Converts the error of the scanner.
    public init(_ fault: JSONSyntaxError) {
        self.init(expected: fault.expectation.rawValue, position: fault.offset)
    }
}

/// A JSON pointer (RFC 6901) into an object: `JSONPointer("/error/code")?.value(in: object)?.integer`.
public struct JSONPointer: Sendable, Hashable {
    private let names: [String]

    /// Returns nil for a text that does not start with `/`.
    public init?(_ text: String) {
        guard text.hasPrefix("/") else { return nil }
        names = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { name in
            name.split(separator: "~1", omittingEmptySubsequences: false).map { part in
                part.split(separator: "~0", omittingEmptySubsequences: false).joined(separator: "~")
            }.joined(separator: "/")
        }
    }

    /// Returns the value at the pointer, or nil if there is none.
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

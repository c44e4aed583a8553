/// A value of a checked JSON text; what it is gets decided when it is asked.
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
        guard let first = raw.first, first == UInt8(ascii: "-") || first.hexDigitValue.map({ $0 < 10 }) == true else {
            return nil
        }
        return Double(String(decoding: raw, as: UTF8.self))
    }

    /// The object that it is, or nil when it is none, or one with two members of a name.
    public var object: JSONObject? {
        guard isObject else { return nil }
        return try? JSONObject(bytes: [UInt8](raw))
    }
}

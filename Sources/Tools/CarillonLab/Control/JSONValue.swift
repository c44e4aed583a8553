import Foundation

/// A JSON value of any shape.
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Nil if the bytes are not one JSON value.
    public init?(parsing bytes: [UInt8]) {
        guard !bytes.isEmpty, let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else {
            return nil
        }
        self = value
    }

    /// A member of an object, `.null` for null; nil if there is none, or the value is not an object.
    public subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    /// An element of an array; nil for an index out of bounds, or if the value is not an array.
    public subscript(index: Int) -> JSONValue? {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
    }

    /// The text; nil for other types.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The whole number of 64 bits; nil for fractions and other types.
    public var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The number, whole or not; nil for other types.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The elements of an array; nil for other types.
    public var elements: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members of an object, without their order; nil for other types.
    public var object: [String: JSONValue]? {
        if case .object(let value) = self { value } else { nil }
    }

    /// Indented, with sorted keys.
    public var prettyPrinted: String { jsonText(isPretty: true) ?? "" }

    /// On one line, with sorted keys.
    var compact: String { jsonText() ?? "" }
}

extension Encodable {
    /// The value as JSON with sorted keys, on one line or indented; nil if it has no JSON form.
    func jsonText(isPretty: Bool = false) -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension JSONValue: Codable {
    /// Keeps whole numbers of 64 bits exactly. Other numbers become a `Double`.
    ///
    /// - Throws: `DecodingError` for anything that is not JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([String: JSONValue].self) {
            self = .object(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else {
            self = .number(try container.decode(Double.self))
        }
    }

    /// Writes the value itself, without the name of its case.
    ///
    /// - Throws: The encoder's error. JSON's encoder refuses an infinite `number` and NaN.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

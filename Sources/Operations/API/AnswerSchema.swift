import Foundation
import JSON
import Rules

/// Derives the JSON Schema of a response by decoding its type with a decoder that records the calls. So the API's
/// description always matches the responses.
enum AnswerSchema {
    static func of<Answer: Decodable>(_ type: Answer.Type) -> JSONValue {
        // Fails only for a type with a handwritten `init(from:)`; tests check all types.
        (try? SchemaRecorder.record(type).schema) ?? ["type": "object"]
    }

    /// Returns the name as responses spell it, by the encoder that writes them.
    static func spelling(of name: String) -> String {
        struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        struct Member: Encodable {
            let name: String
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(0, forKey: Key(stringValue: name))
            }
        }
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let written = (try? encoder.encode(Member(name: name))).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return written.split(separator: "\"").dropFirst().first.map(String.init) ?? name
    }
}

/// A decoder that returns placeholder values and records their types.
private final class SchemaRecorder: Decoder {
    struct NoValue: Error {}

    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]
    private var members: [(key: String, value: JSONValue)] = []
    private var optional: Set<String> = []
    /// Only a dictionary asks for all keys.
    private var isDictionary = false
    private var element: JSONValue?
    private var single: JSONValue?

    /// Returns a value of the type and its schema.
    static func record<Value: Decodable>(_ type: Value.Type) throws -> (value: Value, schema: JSONValue) {
        if let choice = type as? any (CaseIterable & RawRepresentable).Type, let (value, names) = first(of: choice),
            let value = value as? Value
        {
            return (value, ["type": "string", "enum": .texts(names)])
        }
        let recorder = SchemaRecorder()
        let value = try Value(from: recorder)
        return (value, recorder.schema)
    }

    private static func first<Choice: CaseIterable & RawRepresentable>(of type: Choice.Type) -> (Choice, [String])? {
        guard let value = type.allCases.first, value.rawValue is String else { return nil }
        return (value, type.allCases.compactMap { $0.rawValue as? String })
    }

    private var schema: JSONValue {
        if let single { return single }
        if let element { return ["type": "array", "items": element] }
        if isDictionary, let values = members.first?.value {
            return ["type": "object", "additionalProperties": values]
        }
        let required = members.map(\.key).filter { !optional.contains($0) }
        return .members(
            [("type", "object")] + (required.isEmpty ? [] : [("required", .texts(required))]) + [
                ("properties", .members(members))
            ]
        )
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members<Key>(recorder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { Elements(recorder: self) }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { Single(recorder: self) }

    /// Returns a placeholder for a scalar; nil if the type must decode itself.
    private static func leaf<Value>(_ type: Value.Type) -> (value: Value, schema: JSONValue)? {
        func found(_ value: Any, _ schema: JSONValue) -> (value: Value, schema: JSONValue)? {
            (value as? Value).map { ($0, schema) }
        }
        return switch type {
        case is String.Type: found("", ["type": "string"])
        case is Bool.Type: found(false, ["type": "boolean"])
        case is Double.Type: found(0.0, ["type": "number"])
        case let number as any FixedWidthInteger.Type:
            found(number.init(0), number.isSigned ? ["type": "integer"] : ["type": "integer", "minimum": 0])
        default: nil
        }
    }

    private static func value<Value: Decodable>(_ type: Value.Type) throws -> (value: Value, schema: JSONValue) {
        try leaf(type) ?? record(type)
    }

    private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let recorder: SchemaRecorder
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] {
            recorder.isDictionary = true
            return [Key(stringValue: "any")].compactMap(\.self)
        }

        /// Called only for optional members.
        func contains(_ key: Key) -> Bool {
            recorder.optional.insert(AnswerSchema.spelling(of: key.stringValue))
            return true
        }

        func decodeNil(forKey key: Key) -> Bool { false }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            let (value, schema) = try SchemaRecorder.value(type)
            recorder.members.append((AnswerSchema.spelling(of: key.stringValue), schema))
            return value
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type,
            forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> { throw NoValue() }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw NoValue() }
        func superDecoder() throws -> any Decoder { throw NoValue() }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw NoValue() }
    }

    private struct Elements: UnkeyedDecodingContainer {
        let recorder: SchemaRecorder
        var codingPath: [any CodingKey] { [] }
        var count: Int? { 1 }
        private(set) var currentIndex = 0
        var isAtEnd: Bool { currentIndex > 0 }

        init(recorder: SchemaRecorder) { self.recorder = recorder }

        mutating func decodeNil() -> Bool { false }

        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            let (value, schema) = try SchemaRecorder.value(type)
            recorder.element = schema
            currentIndex += 1
            return value
        }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) throws -> KeyedDecodingContainer<Nested> { throw NoValue() }
        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NoValue() }
        mutating func superDecoder() throws -> any Decoder { throw NoValue() }
    }

    private struct Single: SingleValueDecodingContainer {
        let recorder: SchemaRecorder
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { false }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            let (value, schema) = try SchemaRecorder.value(type)
            recorder.single = schema
            return value
        }
    }
}

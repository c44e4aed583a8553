import Foundation
import PlatformTestSupport
import Push
import Storage
import Testing

@testable import Rules

/// Editors complete and check rules files by the schema, so it must list the keys that the reader accepts.
@Suite struct RuleSchemaTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../contrib/schema/rules.schema.json")

    @Test func schemaFileIsUpToDate() throws {
        let written = try String(contentsOf: Self.file, encoding: .utf8)
        #expect(
            written == RuleSchema.text(platforms: .builtIn),
            "write RuleSchema.text to contrib/schema/rules.schema.json"
        )
    }

    /// At every place where the schema allows only certain keys, the reader must know the same ones.
    @Test func readerAcceptsTheSchemasKeys() throws {
        let places = try SchemaPlaces.all()
        #expect(places.count > 20)
        for place in places {
            #expect(Set(try keysKnown(at: place.path)) == place.keys, "at \(place.path)")
        }
    }

    @Test func everyKeyHasADescription() throws {
        for place in try SchemaPlaces.all() {
            #expect(place.undescribed.isEmpty, "at \(place.path)")
        }
    }

    private static let unknown = "an_unknown_key_that_resembles_nothing"

    /// Returns the known keys that the reader lists in its error for an unknown key.
    private func keysKnown(at path: [SchemaPlaces.Step]) throws -> [String] {
        var value: Any = [Self.unknown: 1]
        for step in path.reversed() {
            value =
                switch step {
                case .key(let key): [key: value]
                case .element: [value]
                }
        }
        var file = try #require(value as? [String: Any])
        file["version"] = 1
        if file["rules"] == nil { file["rules"] = [] }
        let text = String(decoding: try JSONSerialization.data(withJSONObject: file), as: UTF8.self)
        let mistakes = #expect(throws: Diagnostics.self) { _ = try RuleBook(yaml: text, name: "rules.yaml") }
        let message = try #require(mistakes?.all.map(\.message).first { $0.contains(Self.unknown) })
        let list = try #require(message.firstRange(of: "; known here: "))
        return message[list.upperBound...].split(separator: ", ").map(String.init)
    }
}

/// The places of the schema that allow only certain keys.
private struct SchemaPlaces {
    enum Step: CustomStringConvertible {
        case key(String)
        case element

        var description: String {
            switch self {
            case .key(let key): key
            case .element: "[]"
            }
        }
    }

    struct Place {
        let path: [Step]
        let keys: Set<String>
        let undescribed: [String]
    }

    private let definitions: [String: Any]
    private var places: [Place] = []

    static func all() throws -> [Place] {
        let parsed = try JSONSerialization.jsonObject(with: Data(RuleSchema.text(platforms: .builtIn).utf8))
        let schema = try #require(parsed as? [String: Any])
        var walk = SchemaPlaces(definitions: schema["$defs"] as? [String: Any] ?? [:])
        walk.visit(schema, [])
        return walk.places
    }

    private init(definitions: [String: Any]) {
        self.definitions = definitions
    }

    private mutating func visit(_ node: Any, _ path: [Step]) {
        guard let schema = node as? [String: Any] else { return }
        if let reference = schema["$ref"] as? String {
            visit(definitions[String(reference.dropFirst("#/$defs/".count))] ?? [:], path)
        }
        for choice in schema["anyOf"] as? [Any] ?? [] { visit(choice, path) }
        if let items = schema["items"] { visit(items, path + [.element]) }
        if let others = schema["additionalProperties"] { visit(others, path + [.key("x")]) }
        let properties = schema["properties"] as? [String: Any] ?? [:]
        // Where languages are allowed, any key may be one.
        if schema["additionalProperties"] as? Bool == false, schema["patternProperties"] == nil {
            let undescribed = properties.filter { ($0.value as? [String: Any])?["description"] == nil }
            places.append(Place(path: path, keys: Set(properties.keys), undescribed: undescribed.keys.sorted()))
        }
        for (key, property) in properties { visit(property, path + [.key(key)]) }
    }
}

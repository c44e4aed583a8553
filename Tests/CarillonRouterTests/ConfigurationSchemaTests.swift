import Foundation
import PlatformTestSupport
import Push
import Storage
import Testing

@testable import CarillonRouter
@testable import RouterConfiguration

/// Editors complete and check configurations by the schema, so it must have the reader's keys.
@Suite struct ConfigurationSchemaTests {
    private struct Place {
        let path: [String]
        let properties: [String: Any]
        let isClosed: Bool
    }

    private static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../contrib/schema/carillon.schema.json")
    private static let unknown = "an_unknown_key_that_resembles_nothing"

    @Test func schemaFileIsUpToDate() throws {
        let written = try String(contentsOf: Self.file, encoding: .utf8)
        #expect(
            written == Schemas.configuration(.builtIn),
            "write `carillon check --schema` to contrib/schema/carillon.schema.json"
        )
    }

    @Test func readerAcceptsTheSchemasKeys() throws {
        let places = try places().filter { $0.isClosed && $0.path.first != "apps" && !$0.path.contains("settings") }
        #expect(places.count > 10)
        for place in places {
            // Only plugins know the other platforms, so the check reports them.
            let platforms = place.path == ["defaults"] ? PlatformCatalog.builtIn.platforms : []
            let keys = Set(place.properties.keys).subtracting(platforms)
            #expect(try keysKnown(at: place.path) == keys, "at \(place.path)")
        }
    }

    @Test func everyKeyHasADescription() throws {
        for place in try places() {
            for (key, property) in place.properties {
                #expect((property as? [String: Any])?["description"] is String, "\(place.path) \(key)")
            }
        }
    }

    /// The schema's choices are those that the reader accepts.
    @Test(arguments: [
        ["defaults", "mode"], ["relays", "per_user"], ["hints", "mode"],
        ["filter_plugins", "any", "devices"], ["filter_plugins", "any", "on_error"],
    ])
    func schemaChoicesMatchTheReader(path: [String]) throws {
        let message = try #require(try mistakes(with: "nothing like it", at: path).first { $0.contains("is none of") })
        let place = try #require(try places().first { $0.path == Array(path.dropLast()) })
        let property = try #require(place.properties[path.last ?? ""] as? [String: Any])
        let forms = try #require(property["anyOf"] as? [[String: Any]])
        let choices = try #require(forms.lazy.compactMap { $0["enum"] as? [String] }.first)
        #expect(message.hasSuffix("is none of " + choices.joined(separator: ", ")))
    }

    /// The example shows every key.
    @Test func exampleShowsEveryKeyAndIsRead() throws {
        let example = try String(
            contentsOf: Self.file.deletingLastPathComponent().appending(path: "../examples/carillon.yaml"),
            encoding: .utf8
        )
        for place in try places() {
            for key in place.properties.keys {
                #expect(example.contains("\(key):"), "\(place.path) \(key)")
            }
        }
        let environment: (String) -> String? = { _ in nil }
        let reader = ConfigurationReader(name: "carillon.yaml", folder: "/", environment: environment)
        #expect(throws: Never.self) { try reader.read(example) }
    }

    /// Returns the known keys that the reader lists after an unknown key.
    private func keysKnown(at path: [String]) throws -> Set<String> {
        let message = try #require(
            try mistakes(with: 1, at: path + [Self.unknown]).first { $0.contains(Self.unknown) },
            "at \(path)"
        )
        let list = try #require(message.firstRange(of: "; known here: "))
        return Set(message[list.upperBound...].split(separator: ", ").map(String.init))
    }

    private func mistakes(with value: Any, at path: [String]) throws -> [String] {
        let file = path.reversed().reduce(value) { [$1: $0] }
        let text = String(decoding: try JSONSerialization.data(withJSONObject: file), as: UTF8.self)
        let mistakes = #expect(throws: Diagnostics.self) {
            _ = try ConfigurationReader(name: "carillon.yaml", folder: "", environment: { _ in nil }).read(text)
        }
        return mistakes?.all.map(\.message) ?? []
    }

    /// Returns the places where the schema lists keys.
    private func places() throws -> [Place] {
        let schema = try JSONSerialization.jsonObject(with: Data(Schemas.configuration(.builtIn).utf8))
        var places: [Place] = []
        func visit(_ node: Any?, _ path: [String]) {
            guard let schema = node as? [String: Any] else { return }
            for form in schema["anyOf"] as? [Any] ?? [] { visit(form, path) }
            if let others = schema["additionalProperties"] { visit(others, path + ["any"]) }
            guard let properties = schema["properties"] as? [String: Any] else { return }
            places.append(
                Place(path: path, properties: properties, isClosed: schema["additionalProperties"] as? Bool == false)
            )
            for (key, property) in properties { visit(property, path + [key]) }
        }
        visit(schema, [])
        return places
    }
}

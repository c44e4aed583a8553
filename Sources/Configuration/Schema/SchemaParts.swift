import Core
import JSON
import Push
import Rules

/// Building blocks of the configuration's schema.
enum SchemaParts {
    typealias Member = (key: String, value: JSONValue)

    /// A variable `${NAME}`, whose value is only known at run time.
    private static let variable: JSONValue = ["type": "string", "pattern": #"^\$\{.*\}$"#]

    /// Returns the schema of a mapping with these keys and no others.
    static func mapping(_ description: String? = nil, required: [String] = [], _ members: [Member]) -> JSONValue {
        let description = description.map { [Member("description", .string($0))] } ?? []
        let needed = required.isEmpty ? [] : [Member("required", .texts(required))]
        return .members(
            description + [("type", "object"), ("additionalProperties", false)] + needed + [
                ("properties", .members(members))
            ]
        )
    }

    static func text(_ description: String, pattern: String? = nil) -> JSONValue {
        guard let pattern else {
            return ["description": .string(description), "type": ["string", "number", "boolean"]]
        }
        return [
            "description": .string(description),
            "anyOf": [["type": "string", "pattern": .string(pattern)], variable],
        ]
    }

    static func choice(_ description: String, _ choices: [String]) -> JSONValue {
        ["description": .string(description), "anyOf": [["enum": .texts(choices)], variable]]
    }

    static func flag(_ description: String) -> JSONValue {
        ["description": .string(description), "type": "boolean"]
    }

    static func integer(_ description: String, _ range: ClosedRange<Int>) -> JSONValue {
        [
            "description": .string(description), "type": "integer",
            "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound),
        ]
    }

    /// Returns the schema of a number of a unit of time, which may be written as a duration.
    static func time(_ description: String, _ range: ClosedRange<Int>) -> JSONValue {
        [
            "description": .string(description),
            "anyOf": [
                ["type": "integer", "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound)],
                ["type": "string", "pattern": .string("^\(Duration.writtenPattern)$")],
            ],
        ]
    }

    /// Returns the schema of one string or a list of strings.
    static func oneOrMore(_ description: String) -> JSONValue {
        [
            "description": .string(description),
            "anyOf": [["type": "string"], ["type": "array", "items": ["type": "string"]]],
        ]
    }
}

/// The schemas of platforms' blocks, from the descriptions of their plugins.
enum PlatformBlockSchema {
    /// Returns all schemas, sorted by platform.
    static func all(_ platforms: PlatformCatalog) -> [SchemaParts.Member] {
        platforms.platforms.compactMap { name in
            platforms[name].map { (name, $0.configuration.jsonSchema) }
        }
    }
}

import Platforms
import Rules

/// What the configuration's schema is made of.
enum SchemaParts {
    typealias Member = (key: String, value: JSONTree)

    /// What `${NAME}` stands for is not known before the program runs.
    private static let variable: JSONTree = ["type": "string", "pattern": #"^\$\{.*\}$"#]

    /// A mapping with these keys and no others.
    static func mapping(_ description: String? = nil, required: [String] = [], _ members: [Member]) -> JSONTree {
        let description = description.map { [Member("description", .text($0))] } ?? []
        let needed = required.isEmpty ? [] : [Member("required", .texts(required))]
        return .object(
            description + [("type", "object"), ("additionalProperties", false)] + needed + [
                ("properties", .object(members))
            ]
        )
    }

    static func text(_ description: String, pattern: String? = nil) -> JSONTree {
        guard let pattern else { return ["description": .text(description), "type": ["string", "number", "boolean"]] }
        return [
            "description": .text(description),
            "anyOf": [["type": "string", "pattern": .text(pattern)], variable],
        ]
    }

    static func choice(_ description: String, _ choices: [String]) -> JSONTree {
        ["description": .text(description), "anyOf": [["enum": .texts(choices)], variable]]
    }

    static func flag(_ description: String) -> JSONTree {
        ["description": .text(description), "type": "boolean"]
    }

    static func integer(_ description: String, _ range: ClosedRange<Int>) -> JSONTree {
        [
            "description": .text(description), "type": "integer",
            "minimum": .number(Double(range.lowerBound)), "maximum": .number(Double(range.upperBound)),
        ]
    }

    /// One text or a list of them.
    static func oneOrMore(_ description: String) -> JSONTree {
        [
            "description": .text(description),
            "anyOf": [["type": "string"], ["type": "array", "items": ["type": "string"]]],
        ]
    }
}

/// The schemas of platforms' blocks, as their plugins describe them.
enum PlatformBlockSchema {
    /// By platform, sorted.
    static func all(_ platforms: PlatformCatalog) -> [SchemaParts.Member] {
        platforms.platforms.compactMap { name in
            platforms[name].map { (name, $0.configuration.jsonSchema) }
        }
    }
}

import Nostr
import Notifications

/// The schema of a rule's conditions.
enum MatchKeySchema {
    static let signal: JSONTree = ["type": "string", "pattern": .text(SignalSchema.pattern)]

    static var match: JSONTree {
        [
            "type": "object",
            "additionalProperties": false,
            "properties": [
                "kinds": described(
                    "The event's kind is one of these.",
                    oneOrMore(["type": "integer", "minimum": 0, "maximum": 65535])
                ),
                "content": described(
                    "The event's content is one of these texts, or matches a regular expression.",
                    .object(value)
                ),
                "relation": described(
                    "What the event is to the recipient's.",
                    oneOrMore(["enum": .texts(Relation.allCases.map(\.rawValue))])
                ),
                "signal": described(
                    "What Carillon takes the event for.",
                    oneOrMore(["enum": .texts(Signal.wellKnown.map(\.rawValue))])
                ),
                "tags": [
                    "description": "By a tag's name what its first value is, or whether there is such a tag.",
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": ["anyOf": .list([["type": "boolean"]] + valueForms)],
                ],
                "zap": described("How many satoshis were sent.", range),
                "p_tags": described("How many p tags the event has: how many people it names.", range),
                "followed": [
                    "description": "Whether the author is in the recipient's own contact list.", "type": "boolean",
                ],
                "language": described(
                    "The device's language is one of these, or falls back to one.",
                    oneOrMore(["type": "string", "pattern": .text("^\(LocalizedTextSchema.languagePattern)$")])
                ),
            ],
        ]
    }

    private static let range: JSONTree = [
        "type": "object",
        "additionalProperties": false,
        "minProperties": 1,
        "properties": [
            "min": ["description": "At least so many.", "type": "integer", "minimum": 0],
            "max": ["description": "At most so many.", "type": "integer", "minimum": 0],
        ],
    ]

    private static let valueForms: [JSONTree] = [
        ["type": "string"],
        ["type": "array", "minItems": 1, "items": ["type": "string"]],
        [
            "type": "object",
            "additionalProperties": false,
            "required": ["matches"],
            "properties": ["matches": ["description": "A regular expression (PCRE2).", "type": "string"]],
        ],
    ]

    private static let value: [(key: String, value: JSONTree)] = [("anyOf", .list(valueForms))]

    private static func oneOrMore(_ schema: JSONTree) -> JSONTree {
        ["anyOf": [schema, ["type": "array", "minItems": 1, "items": schema]]]
    }

    private static func described(_ description: String, _ schema: JSONTree) -> JSONTree {
        .object([("description", .text(description))] + schema.members)
    }
}

import JSON
import Nostr
import Push

/// The schema of a rule's conditions.
enum MatchKeySchema {
    static let signal: JSONValue = ["type": "string", "pattern": .string(SignalSchema.pattern)]

    static var match: JSONValue {
        [
            "type": "object",
            "additionalProperties": false,
            "properties": [
                "kinds": described(
                    "The event's kind is one of these.",
                    oneOrMore(["type": "integer", "minimum": 0, "maximum": 65535])
                ),
                "author": described(
                    "The person who caused the event is one of these: a zap's sender, or else the event's author.",
                    keys
                ),
                "recipient": described("The account that the event concerns is one of these.", keys),
                "p": described("The event's p tags contain one of these keys.", keys),
                "content": described(
                    "The event's content is one of these texts, or matches a regular expression.",
                    .members(value)
                ),
                "json": [
                    "description": "Conditions on fields of JSON content by path, such as order.total.",
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": ["anyOf": .array([["type": "boolean"]] + texts + [.members(test)])],
                ],
                "relation": described(
                    "The event's relation to the recipient's event.",
                    oneOrMore(["enum": .texts(Relation.allCases.map(\.rawValue))])
                ),
                "signal": described(
                    "The signal that Carillon gives the event.",
                    oneOrMore(
                        [
                            "enum": .texts(Signal.wellKnown.map(\.rawValue)),
                            "enumDescriptions": .texts(Signal.wellKnown.map(EventSubject.description)),
                        ]
                    )
                ),
                "tags": [
                    "description":
                        "Conditions by a tag's name: its first or other values, or whether the tag exists.",
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": ["anyOf": .array([["type": "boolean"]] + texts + [tag])],
                ],
                "zap": described("The number of satoshis sent.", range),
                "p_tags": described("The number of the event's p tags, and so of the people it names.", range),
                "followed": [
                    "description": "Whether the author is in the recipient's own contact list.", "type": "boolean",
                ],
                "language": described(
                    "The device's language is one of these, or falls back to one.",
                    oneOrMore(["type": "string", "pattern": .string("^\(LocalizedTextSchema.languagePattern)$")])
                ),
                "platform": described(
                    "The device is on one of these platforms, as named in registrations: ios, android, web, …",
                    oneOrMore(name)
                ),
                "app": described("The device belongs to one of these apps.", oneOrMore(name)),
            ],
        ]
    }

    private static let range: JSONValue = [
        "type": "object",
        "additionalProperties": false,
        "minProperties": 1,
        "properties": [
            "min": ["description": "The minimum.", "type": "integer", "minimum": 0],
            "max": ["description": "The maximum.", "type": "integer", "minimum": 0],
        ],
    ]

    private static let name: JSONValue = ["type": "string", "minLength": 1, "maxLength": 64]

    private static let key: JSONValue = ["type": "string", "pattern": "^([0-9a-fA-F]{64}|npub1[02-9ac-hj-np-z]{58})$"]

    /// Accounts, listed here or in a file.
    private static var keys: JSONValue {
        [
            "anyOf": [
                key, ["type": "array", "minItems": 1, "items": key],
                [
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["file"],
                    "properties": [
                        "file": ["description": "A file with npub1… or 64 hex digits on each line.", "type": "string"]
                    ],
                ],
            ]
        ]
    }

    private static let texts: [JSONValue] = [
        ["type": "string"], ["type": "array", "minItems": 1, "items": ["type": "string"]],
    ]

    private static let pattern: (key: String, value: JSONValue) = (
        "matches", ["description": "A regular expression (PCRE2).", "type": "string"]
    )

    private static let tests: [(key: String, value: JSONValue)] = [
        pattern, ("min", ["description": "A number, at least this one.", "type": "number"]),
        ("max", ["description": "A number, at most this one.", "type": "number"]),
    ]

    /// A condition on one text.
    private static let test: [(key: String, value: JSONValue)] = [
        ("type", "object"), ("additionalProperties", false), ("minProperties", 1), ("properties", .members(tests)),
    ]

    /// A condition on more than a tag's first value.
    private static var tag: JSONValue {
        let value: JSONValue = ["anyOf": .array(texts + [.members(test)])]
        let places = ValueConditionReader.places.map { place in
            (key: String(place), value: described("The value at this position after the name.", value))
        }
        let further: [(key: String, value: JSONValue)] = [
            ("any", described("A value at any position after the name.", value)),
            (
                "recipient",
                ["description": "The first value is the key of the account that the event concerns.", "const": true]
            ),
        ]
        return [
            "type": "object", "additionalProperties": false, "minProperties": 1,
            "properties": .members(tests + further + places),
        ]
    }

    private static var value: [(key: String, value: JSONValue)] {
        [
            (
                "anyOf",
                .array(
                    texts + [
                        [
                            "type": "object", "additionalProperties": false, "required": ["matches"],
                            "properties": .members([pattern]),
                        ]
                    ]
                )
            )
        ]
    }

    private static func oneOrMore(_ schema: JSONValue) -> JSONValue {
        ["anyOf": [schema, ["type": "array", "minItems": 1, "items": schema]]]
    }

    private static func described(_ description: String, _ schema: JSONValue) -> JSONValue {
        .members([("description", .string(description))] + schema.members)
    }
}

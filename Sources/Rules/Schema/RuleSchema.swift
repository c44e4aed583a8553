import JSON
import Push

/// The JSON Schema of a rules file. Editors use it to complete and check the file.
package enum RuleSchema {
    /// Returns the schema (draft 2020-12) for these platforms. `contrib/schema/rules.schema.json` is the one for all
    /// built-in platforms.
    package static func text(platforms: PlatformCatalog) -> String { schema(platforms).prettyPrinted + "\n" }

    private static func schema(_ platforms: PlatformCatalog) -> JSONValue {
        [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Carillon rules",
            "description": "What each kind of event becomes. The first rule that matches an event decides.",
            "type": "object",
            "additionalProperties": false,
            "required": ["version", "rules"],
            "properties": [
                "version": ["description": "This file's format.", "const": 1],
                "rules": [
                    "description": "The rules, in the order in which they are asked.",
                    "type": "array",
                    "items": ["$ref": "#/$defs/rule"],
                ],
                "summary": RuleKeySchema.ofSeveralEvents(
                    "What several notifications that waited for each other say together; {{count}} tells how many.",
                    platforms
                ),
                "nudge": RuleKeySchema.ofSeveralEvents(
                    "What is shown where neither who nor what may be told; {{count}} tells of how many.",
                    platforms
                ),
                "mentions": RuleKeySchema.mentions,
                "categories": [
                    "description": "The categories of buttons that the app registers itself.",
                    "type": "array",
                    "items": ["type": "string", "minLength": 1],
                    "uniqueItems": true,
                ],
            ],
            "$defs": [
                "rule": RuleKeySchema.rule(platforms),
                "match": MatchKeySchema.match,
                "action": RuleKeySchema.action,
                "text": LocalizedTextSchema.text,
                "textOrKey": LocalizedTextSchema.textOrKey,
            ],
        ]
    }
}

/// The names of signals in a rules file.
package enum SignalSchema {
    /// A regular expression for JSON Schema. `batch` is reserved for summaries.
    package static let pattern = "^(?!batch$)[a-z0-9_-]{1,32}$"
}

/// The schema of a rule's own keys. The keys of blocks come from the platforms' descriptions.
enum RuleKeySchema {
    static func rule(_ platforms: PlatformCatalog) -> JSONValue {
        [
            "type": "object", "additionalProperties": false,
            "properties": .members(head + texts + payload(platforms) + blocks(platforms)),
        ]
    }

    /// The schema of templates for batches: a rule's keys for the notification.
    static func ofSeveralEvents(_ description: String, _ platforms: PlatformCatalog) -> JSONValue {
        let members: [(key: String, value: JSONValue)] = NotificationTemplate.keys(platforms).map {
            ($0, ["description": .string("As a rule's \($0)."), "$ref": .string("#/$defs/rule/properties/\($0)")])
        }
        return [
            "description": .string(description), "type": "object", "additionalProperties": false,
            "properties": .members(members),
        ]
    }

    static let action: JSONValue = [
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "label"],
        "properties": [
            "id": [
                "description": "What the app learns when the button is tapped, best as com.example.action.name.",
                "type": "string", "minLength": 1,
            ],
            "label": LocalizedTextSchema.reference("The text on the button.", "text"),
            "url": url("What the button opens; the notification's url unless given."),
            "icon": [
                "description": "The name of an SF Symbol, such as cart.fill.", "type": "string",
                "pattern": "^(?!SFSymbol\\.)",
            ],
        ],
    ]

    static let mentions: JSONValue = [
        "description":
            "How texts spell the nostr: URIs in what people wrote: raw, as they stand, or people by names and events by excerpts.",
        "enum": .texts(MentionStyle.allCases.map(\.rawValue)),
    ]

    private static var head: [(key: String, value: JSONValue)] {
        [
            (
                "name",
                [
                    "description": "What traces and trials call this rule.", "type": "string", "minLength": 1,
                    "maxLength": 64,
                ]
            ),
            (
                "match",
                LocalizedTextSchema.reference(
                    "Which events this rule is for: each condition must hold; without any it is for all.",
                    "match"
                )
            ),
            ("drop", ["description": "true: such events wake nobody.", "type": "boolean"]),
            (
                "signal",
                described(
                    "What registrations switch on and off, and what a wake-up says; what Carillon takes the event for unless given.",
                    MatchKeySchema.signal
                )
            ),
            (
                "mode",
                [
                    "description":
                        "The most that a push service may see; the stricter of this and the device's counts.",
                    "enum": .texts(Mode.allCases.map(\.name)),
                ]
            ),
            (
                "urgency",
                ["description": "How soon a device should be bothered.", "enum": .texts(Urgency.allCases.map(\.name))]
            ),
            (
                "pace",
                [
                    "description":
                        "How a push waits for its device's time: immediate does not wait, latest gives way to a later one of the same key, batch is counted with others; follows from the push type unless given.",
                    "enum": .texts(PushPace.allCases.map(\.rawValue)),
                ]
            ),
            ("key", text("What belongs together where only the latest counts, such as {{event.tag.d}}.")),
            ("mentions", mentions),
        ]
    }

    private static var texts: [(key: String, value: JSONValue)] {
        [
            ("title", LocalizedTextSchema.reference("The first line; a template.", "textOrKey")),
            (
                "subtitle",
                LocalizedTextSchema.reference("The second line, where a platform has one; a template.", "textOrKey")
            ),
            ("body", LocalizedTextSchema.reference("What stands below; a template.", "textOrKey")),
            ("category", text("The app's word for this kind of notification.")),
            ("thread", text("What belongs together on the screen has the same.")),
            ("collapse", text("A later notification takes the place of an earlier one with the same.")),
            ("url", url("What a tap opens.")),
            (
                "actions",
                [
                    "description": "Buttons.", "type": "array", "minItems": 1, "maxItems": 4,
                    "items": ["$ref": "#/$defs/action"],
                ]
            ),
        ]
    }

    private static func payload(_ platforms: PlatformCatalog) -> [(key: String, value: JSONValue)] {
        [
            (
                "data",
                [
                    "description":
                        "Further keys for the app; any JSON, its texts are templates, and a template under the tag !!int or !!float becomes a number.",
                    "type": "object", "properties": .members(CustomKeys.reserved(platforms).map { ($0, false) }),
                ]
            ),
            (
                "event_data",
                [
                    "description": "false leaves out the keys that tell the app which event this is about.",
                    "type": "boolean",
                ]
            ),
            (
                "expires",
                [
                    "description": "How long a push service may keep it for a device that is off: 1m to 28d.",
                    "type": "string", "pattern": .string("^\(TimeSpan.pattern)$"),
                ]
            ),
        ]
    }

    private static func blocks(_ platforms: PlatformCatalog) -> [(key: String, value: JSONValue)] {
        let owned = platforms.blocks
        let others = platforms.platforms.filter { platform in !owned.contains { $0.platform == platform } }
        func schema(of platform: String) -> JSONValue {
            platforms[platform].map { described($0.doc, $0.rules.jsonSchema) } ?? ["type": "object"]
        }
        let native: JSONValue = [
            "description":
                "Blocks for platforms that have no key of their own, by their plugin's name; nothing in them is checked.",
            "type": "object",
            "additionalProperties": ["type": "object"],
        ]
        let properties = [(key: "properties", value: JSONValue.members(others.map { ($0, schema(of: $0)) }))]
        return owned.map { ($0.key, schema(of: $0.platform)) } + [
            ("native", others.isEmpty ? native : .members(native.members + properties))
        ]
    }

    private static func described(_ description: String, _ schema: JSONValue) -> JSONValue {
        .members([("description", .string(description))] + schema.members)
    }

    private static func text(_ description: String) -> JSONValue {
        ["description": .string(description), "type": "string"]
    }

    private static func url(_ description: String) -> JSONValue {
        described(description, TextForm.absoluteURL.jsonSchema)
    }
}

/// The schema of texts that may have several languages.
package enum LocalizedTextSchema {
    /// A language with an optional script and an optional region; other parts of a tag are not used.
    static let languagePattern = "[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|[0-9]{3}))?"

    /// A text, or one for each language.
    package static let text: JSONValue = ["anyOf": [["type": "string"], byLanguage([:])]]

    /// A text, one for each language, or a localised text of the app.
    package static let textOrKey: JSONValue = [
        "anyOf": [
            ["type": "string"],
            byLanguage([
                "loc-key": ["description": "The name of a text that the app has itself.", "type": "string"],
                "loc-args": [
                    "description": "What goes into that text.",
                    "type": "array",
                    "items": ["type": "string"],
                ],
            ]),
        ]
    ]

    static func reference(_ description: String, _ definition: String) -> JSONValue {
        ["description": .string(description), "$ref": .string("#/$defs/\(definition)")]
    }

    private static func byLanguage(_ further: JSONValue) -> JSONValue {
        let fallback: JSONValue = ["description": "The text for every other language.", "type": "string"]
        return [
            "type": "object",
            "required": ["default"],
            "properties": .members([("default", fallback)] + further.members),
            "patternProperties": [
                "^(?!loc-(key|args)$)\(languagePattern)$": [
                    "description": "The text in this language, which is a tag such as de, pt-BR or zh-Hant.",
                    "type": "string",
                ]
            ],
            "additionalProperties": false,
        ]
    }
}

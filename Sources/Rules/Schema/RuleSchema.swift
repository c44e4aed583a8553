import Core
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
            "description": "The notification for each kind of event. The first rule that matches an event decides.",
            "type": "object",
            "additionalProperties": false,
            "required": ["version", "rules"],
            "properties": [
                "version": ["description": "This file's format.", "const": 1],
                "rules": [
                    "description": "The rules, in the order in which they are checked.",
                    "type": "array",
                    "items": ["$ref": "#/$defs/rule"],
                ],
                "summary": RuleKeySchema.ofSeveralEvents(
                    "The notification for a batch of events; {{count}} is their number.",
                    platforms
                ),
                "nudge": RuleKeySchema.ofSeveralEvents(
                    "The notification if neither sender nor content may be shown; {{count}} is the number of events.",
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
                "description": "The id that the app gets when the button is tapped, such as com.example.action.name.",
                "type": "string", "minLength": 1,
            ],
            "label": LocalizedTextSchema.reference("The text on the button.", "text"),
            "url": url("The URL that the button opens. Default: the notification's url."),
            "icon": [
                "description": "The name of an SF Symbol, such as cart.fill.", "type": "string",
                "pattern": "^(?!SFSymbol\\.)",
            ],
        ],
    ]

    static let mentions: JSONValue = [
        "description":
            "How texts show nostr: URIs that people wrote: raw is unchanged; names shows people by names and events by excerpts.",
        "enum": .texts(MentionStyle.allCases.map(\.rawValue)),
    ]

    private static var head: [(key: String, value: JSONValue)] {
        [
            (
                "name",
                [
                    "description": "The rule's name in traces and tests.", "type": "string", "minLength": 1,
                    "maxLength": 64,
                ]
            ),
            (
                "match",
                LocalizedTextSchema.reference(
                    "The events that this rule matches: each condition must hold. Without conditions it matches all.",
                    "match"
                )
            ),
            ("drop", ["description": "true: such events send no notification.", "type": "boolean"]),
            (
                "signal",
                described(
                    "The signal that registrations switch on and off, and that a wake-up contains. Default: the one that Carillon gives the event.",
                    MatchKeySchema.signal
                )
            ),
            (
                "mode",
                [
                    "description":
                        "The most that a push service may see; the stricter of this and the device's mode applies.",
                    "enum": .texts(Mode.allCases.map(\.name)),
                ]
            ),
            (
                "urgency",
                ["description": "How urgent the notification is.", "enum": .texts(Urgency.allCases.map(\.name))]
            ),
            (
                "pace",
                [
                    "description":
                        "How a push is paced: immediate is never held, latest is replaced by a later one with the same key, batch is merged with others. Default: depends on the push type.",
                    "enum": .texts(PushPace.allCases.map(\.rawValue)),
                ]
            ),
            ("key", text("Pushes with the same key replace each other if only the latest counts: {{event.tag.d}}.")),
            ("mentions", mentions),
        ]
    }

    private static var texts: [(key: String, value: JSONValue)] {
        [
            ("title", LocalizedTextSchema.reference("The first line; a template.", "textOrKey")),
            (
                "subtitle",
                LocalizedTextSchema.reference("The second line, if the platform has one; a template.", "textOrKey")
            ),
            ("body", LocalizedTextSchema.reference("The text below; a template.", "textOrKey")),
            ("category", text("The app's name for this kind of notification.")),
            ("thread", text("Notifications with the same thread are grouped on the screen.")),
            ("collapse", text("A later notification replaces an earlier one with the same value.")),
            ("url", url("The URL that a tap opens.")),
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
                        "More keys for the app: any JSON. Its strings are templates, and a template with the tag !!int or !!float becomes a number.",
                    "type": "object", "properties": .members(CustomKeys.reserved(platforms).map { ($0, false) }),
                ]
            ),
            (
                "event_data",
                [
                    "description": "false omits the keys that describe the event to the app.",
                    "type": "boolean",
                ]
            ),
            (
                "expires",
                [
                    "description": "How long a push service may keep it for an unreachable device: 1m to 28d.",
                    "type": "string", "pattern": .string("^\(Duration.writtenPattern)$"),
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
                "Blocks for platforms without their own key, by their plugin's name. They are not checked.",
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
                "loc-key": ["description": "The name of a localised text in the app.", "type": "string"],
                "loc-args": [
                    "description": "The arguments of that text.",
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

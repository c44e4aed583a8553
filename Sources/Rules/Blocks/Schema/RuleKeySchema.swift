import Notifications

/// The schema of a rule's own keys; those of platforms' blocks come from their tables.
enum RuleKeySchema {
    static var rule: JSONTree {
        ["type": "object", "additionalProperties": false, "properties": .object(head + texts + payload + blocks)]
    }

    /// What speaks of no event in particular: the keys of a rule that say what goes out.
    static func ofSeveralEvents(_ description: String) -> JSONTree {
        let members: [(key: String, value: JSONTree)] = NotificationTemplate.keys.map {
            ($0, ["description": .text("As a rule's \($0)."), "$ref": .text("#/$defs/rule/properties/\($0)")])
        }
        return [
            "description": .text(description), "type": "object", "additionalProperties": false,
            "properties": .object(members),
        ]
    }

    static let action: JSONTree = [
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

    static let mentions: JSONTree = [
        "description":
            "How texts spell the nostr: URIs in what people wrote: raw, as they stand, or people by names and events by excerpts.",
        "enum": .texts(MentionStyle.allCases.map(\.rawValue)),
    ]

    private static var head: [(key: String, value: JSONTree)] {
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

    private static var texts: [(key: String, value: JSONTree)] {
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

    private static var payload: [(key: String, value: JSONTree)] {
        [
            (
                "data",
                [
                    "description":
                        "Further keys for the app; any JSON, its texts are templates, and a template under the tag !!int or !!float becomes a number.",
                    "type": "object", "properties": .object(CustomKeys.reserved.map { ($0, false) }),
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
                    "type": "string", "pattern": .text("^\(TimeSpan.pattern)$"),
                ]
            ),
        ]
    }

    private static var blocks: [(key: String, value: JSONTree)] {
        PlatformKey.all.map { ($0.name, described($0.doc, $0.table?.schema ?? ["type": "object"])) } + [
            (
                "native",
                [
                    "description":
                        "Blocks for platforms that have no key of their own, by their plugin's name; nothing in them is checked.",
                    "type": "object",
                    "additionalProperties": ["type": "object"],
                ]
            )
        ]
    }

    private static func described(_ description: String, _ schema: JSONTree) -> JSONTree {
        .object([("description", .text(description))] + schema.members)
    }

    private static func text(_ description: String) -> JSONTree {
        ["description": .text(description), "type": "string"]
    }

    private static func url(_ description: String) -> JSONTree {
        described(description, TextForm.absoluteURL.schema)
    }
}

import JSON
import Pipeline
import Rules

/// The schema of the block `filters`. Plugins check their own settings, even those of Carillon.
enum FilterSchema {
    static var schema: JSONValue {
        [
            "description":
                "By a filter's name, the settings of its plugin and which devices have it; asked in this order. None when left out.",
            "type": "object",
            "properties": .members([
                ("mutes", filter("Whom and what the recipient mutes (NIP-51, kind 10000).", mutes)),
                ("web-of-trust", filter("How near the author is to the recipient.", webOfTrust)),
                (
                    "noise",
                    filter("Too many people named, too small a zap, too little work, too many at a time.", noise)
                ),
            ]),
            // Filters of other plugins.
            "additionalProperties": filter(nil, ["description": "The plugin's own.", "type": "object"]),
        ]
    }

    private static func filter(_ description: String?, _ settings: JSONValue) -> JSONValue {
        SchemaParts.mapping(
            description,
            [
                (
                    "devices",
                    SchemaParts.choice(
                        "What a registration may decide: always, may-switch-off or may-switch-on; may-switch-off when left out.",
                        FilterAvailability.allCases.map(\.rawValue)
                    )
                ),
                (
                    "on_error",
                    SchemaParts.choice(
                        "What becomes of an event about which it cannot decide; pass when left out.",
                        EventFilter.OnError.allCases.map(\.rawValue)
                    )
                ),
                ("settings", settings),
            ]
        )
    }

    private static var mutes: JSONValue {
        SchemaParts.mapping(
            "What of a mute list counts; all of it when left out.",
            [
                ("people", SchemaParts.flag("Whether muted people count.")),
                ("words", SchemaParts.flag("Whether muted words count.")),
                ("whole_words", SchemaParts.flag("Whether a muted word must stand alone; false when left out.")),
                ("hashtags", SchemaParts.flag("Whether muted hashtags count.")),
                ("threads", SchemaParts.flag("Whether muted threads count.")),
                (
                    "remembered_events",
                    SchemaParts.integer(
                        "Events of muted threads that are remembered; 10000 when left out.",
                        1...1_000_000
                    )
                ),
            ]
        )
    }

    private static var webOfTrust: JSONValue {
        SchemaParts.mapping(
            "Who may wake the recipient.",
            required: ["level"],
            [
                (
                    "level",
                    SchemaParts.choice(
                        "How far trust goes: to those the recipient follows, or also to those they follow.",
                        ["follows", "follows-of-follows"]
                    )
                ),
                ("except", signals("Signals that always pass, such as dm.")),
                (
                    "unknown",
                    SchemaParts.choice(
                        "What becomes of authors who cannot be judged; pass when left out.",
                        ["pass", "drop"]
                    )
                ),
                (
                    "undecided",
                    SchemaParts.choice(
                        "What becomes of authors when relays do not say in time who follows them; drop when left out.",
                        ["pass", "drop"]
                    )
                ),
                (
                    "min_zap_sats",
                    SchemaParts.integer("A zap of at least that much passes, whoever sends it.", satoshis)
                ),
            ]
        )
    }

    private static var noise: JSONValue {
        SchemaParts.mapping(
            "What counts as noise; what is left out does not.",
            [
                ("except", signals("Signals that always pass, such as dm.")),
                ("hellthread", SchemaParts.integer("The most people that an event may name.", 1...100_000)),
                ("min_zap_sats", SchemaParts.integer("The least that a zap must be worth.", satoshis)),
                (
                    "min_zap_sats_from_follows",
                    SchemaParts.integer("The same for zaps of those the recipient follows.", satoshis)
                ),
                (
                    "difficulty",
                    [
                        "description": "The work that an event must hold (NIP-13), in bits; or that by signal.",
                        "anyOf": [
                            difficulty,
                            [
                                "type": "object", "propertyNames": ["pattern": .string(SignalSchema.pattern)],
                                "additionalProperties": difficulty,
                            ],
                        ],
                    ]
                ),
                (
                    "difficulty_from_follows",
                    SchemaParts.flag("Whether those the recipient follows must work too; false when left out.")
                ),
                (
                    "burst",
                    SchemaParts.mapping(
                        "What one author may send one recipient in a while.",
                        required: ["events", "seconds"],
                        [
                            ("events", SchemaParts.integer("So many events pass …", 1...100)),
                            ("seconds", SchemaParts.integer("… within so many seconds.", 1...86_400)),
                        ]
                    )
                ),
            ]
        )
    }

    private static let satoshis = 0...2_100_000_000_000_000
    private static let difficulty: JSONValue = ["type": "integer", "minimum": 0, "maximum": 256]

    private static func signals(_ description: String) -> JSONValue {
        [
            "description": .string(description), "type": "array",
            "items": SchemaParts.text("A signal.", pattern: SignalSchema.pattern),
        ]
    }
}

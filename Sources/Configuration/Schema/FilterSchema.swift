import JSON
import Pipeline
import Rules

/// The schema of the block `filters`. Plugins check their own settings, even those of Carillon.
enum FilterSchema {
    static var schema: JSONValue {
        [
            "description":
                "The filters by name, with the settings of their plugins and their devices; called in this order. Default: none.",
            "type": "object",
            "properties": .members([
                ("mutes", filter("Drops what the recipient mutes (NIP-51, kind 10000).", mutes)),
                ("web-of-trust", filter("Drops events of authors outside the recipient's follow graph.", webOfTrust)),
                (
                    "noise",
                    filter(
                        "Drops events with too many mentions, small zaps, too little proof of work, and bursts.",
                        noise
                    )
                ),
            ]),
            // Filters of other plugins.
            "additionalProperties": filter(nil, ["description": "The plugin's own settings.", "type": "object"]),
        ]
    }

    private static func filter(_ description: String?, _ settings: JSONValue) -> JSONValue {
        SchemaParts.mapping(
            description,
            [
                (
                    "devices",
                    SchemaParts.choice(
                        "Whether a registration may choose: always, may-switch-off or may-switch-on. Default: may-switch-off.",
                        FilterAvailability.allCases.map(\.rawValue)
                    )
                ),
                (
                    "on_error",
                    SchemaParts.choice(
                        "The decision about an event if the filter fails. Default: pass.",
                        EventFilter.OnError.allCases.map(\.rawValue)
                    )
                ),
                ("settings", settings),
            ]
        )
    }

    private static var mutes: JSONValue {
        SchemaParts.mapping(
            "The entries of a mute list that are applied. Default: all.",
            [
                ("people", SchemaParts.flag("Whether muted accounts are dropped.")),
                ("words", SchemaParts.flag("Whether muted words are dropped.")),
                ("whole_words", SchemaParts.flag("Whether a muted word matches whole words only. Default: false.")),
                ("hashtags", SchemaParts.flag("Whether muted hashtags are dropped.")),
                ("threads", SchemaParts.flag("Whether muted threads are dropped.")),
                (
                    "remembered_events",
                    SchemaParts.integer(
                        "The maximum number of stored events of muted threads. Default: 10000.",
                        1...1_000_000
                    )
                ),
            ]
        )
    }

    private static var webOfTrust: JSONValue {
        SchemaParts.mapping(
            "The authors whose events notify the recipient.",
            required: ["level"],
            [
                (
                    "level",
                    SchemaParts.choice(
                        "The trusted accounts: those the recipient follows; with follows-of-follows those they follow too.",
                        ["follows", "follows-of-follows"]
                    )
                ),
                ("except", signals("Signals that always pass, such as dm.")),
                (
                    "unknown",
                    SchemaParts.choice(
                        "The decision about events of unknown authors. Default: pass.",
                        ["pass", "drop"]
                    )
                ),
                (
                    "undecided",
                    SchemaParts.choice(
                        "The decision if relays do not respond in time. Default: drop.",
                        ["pass", "drop"]
                    )
                ),
                (
                    "min_zap_sats",
                    SchemaParts.integer("The amount from which a zap always passes, from any sender.", satoshis)
                ),
            ]
        )
    }

    private static var noise: JSONValue {
        SchemaParts.mapping(
            "The definition of noise. Omitted settings are not checked.",
            [
                ("except", signals("Signals that always pass, such as dm.")),
                (
                    "hellthread",
                    SchemaParts.integer("The maximum number of accounts that an event may mention.", 1...100_000)
                ),
                ("min_zap_sats", SchemaParts.integer("The minimum amount of a zap.", satoshis)),
                (
                    "min_zap_sats_from_follows",
                    SchemaParts.integer(
                        "The minimum amount of a zap from accounts that the recipient follows.",
                        satoshis
                    )
                ),
                (
                    "difficulty",
                    [
                        "description":
                            "The required proof of work of an event (NIP-13), in bits; or a mapping by signal.",
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
                    SchemaParts.flag(
                        "Whether accounts that the recipient follows need proof of work too. Default: false."
                    )
                ),
                (
                    "burst",
                    SchemaParts.mapping(
                        "The maximum rate of events from one author to one recipient.",
                        required: ["events", "seconds"],
                        [
                            ("events", SchemaParts.integer("The number of events that pass.", 1...100)),
                            ("seconds", SchemaParts.integer("The time span in seconds.", 1...86_400)),
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

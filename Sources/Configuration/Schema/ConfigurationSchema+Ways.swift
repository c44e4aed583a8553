import AccountWatch
import EventTrace
import RelayPool
import Rules

extension ConfigurationSchema {
    /// The blocks on the ways in.
    static var ways: [SchemaParts.Member] {
        [
            ("relays", relays),
            (
                "hints",
                [
                    "description": "What wake-up hints of partners (kind 20062) do.",
                    "anyOf": [
                        ["enum": .texts(HintPolicy.allCases.map(\.rawValue))],
                        SchemaParts.mapping(
                            nil,
                            [
                                ("mode", SchemaParts.choice("The same.", HintPolicy.allCases.map(\.rawValue))),
                                (
                                    "silent_minutes",
                                    SchemaParts.integer(
                                        "How long after its last hint a partner counts as there.",
                                        1...10_080
                                    )
                                ),
                            ]
                        ),
                    ],
                ]
            ),
            (
                "registration",
                SchemaParts.mapping(
                    "Who may register.",
                    [
                        ("require_session", SchemaParts.flag("Only who opened a NIP-46 session.")),
                        ("secret_file", SchemaParts.text("The file with the secrets that open a session, one a line.")),
                    ]
                )
            ),
            (
                "context",
                [
                    "description": "Names and notes that notifications speak of; or off: none are looked for or kept.",
                    "anyOf": [
                        ["enum": ["off", false]],
                        SchemaParts.mapping(
                            nil,
                            [
                                (
                                    "wait_milliseconds",
                                    SchemaParts.integer(
                                        "How long a notification waits for what has to be fetched.",
                                        0...10_000
                                    )
                                ),
                                (
                                    "path",
                                    SchemaParts.text("The file of what was fetched; it may be lost at any time.")
                                ),
                            ]
                        ),
                    ],
                ]
            ),
            (
                "trace",
                [
                    "description": "How much is kept of what became of events, for carillon explain; or off.",
                    "anyOf": [
                        ["enum": ["off", false]],
                        SchemaParts.mapping(
                            nil,
                            [
                                ("rows", SchemaParts.integer("Entries at most.", TraceLimits.rowRange)),
                                ("days", SchemaParts.integer("How long one is kept at most.", TraceLimits.dayRange)),
                            ]
                        ),
                    ],
                ]
            ),
        ]
    }

    private static var relays: JSONTree {
        SchemaParts.mapping(
            "Other relays, to which we go out.",
            [
                ("always", SchemaParts.oneOrMore("Connected all the time; everybody is watched there.")),
                (
                    "per_user",
                    SchemaParts.choice(
                        "Whose word counts on a user's own relays: nip65, registration or none.",
                        RelaySource.allCases.map(\.rawValue)
                    )
                ),
                ("nip46", SchemaParts.oneOrMore("Where sessions are held besides our socket; 'always' when left out.")),
                ("publish", SchemaParts.oneOrMore("Where our advertisement is published; 'always' when left out.")),
                (
                    "catch_up_hours",
                    SchemaParts.integer("How far back a relay is read after an absence.", 1...720)
                ),
            ]
        )
    }
}

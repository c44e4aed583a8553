import Delivery
import JSON
import Observability
import Relays
import Rules

extension ConfigurationSchema {
    /// The blocks on sources of events and registrations.
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
                                (
                                    "keep_events_hours",
                                    SchemaParts.integer(
                                        "How long whole events are kept for carillon rules diff, their content too; none "
                                            + "when left out.",
                                        TraceLimits.keptEventsRange
                                    )
                                ),
                            ]
                        ),
                    ],
                ]
            ),
            (
                "dead_letters",
                SchemaParts.mapping(
                    "Deliveries that failed for good, kept for carillon queue; 0 of either switches it off.",
                    [
                        ("days", SchemaParts.integer("How long one is kept at most.", DeadLetterLimits.dayRange)),
                        ("rows", SchemaParts.integer("How many are kept at most.", DeadLetterLimits.rowRange)),
                    ]
                )
            ),
            ("tracing", tracing),
        ]
    }

    private static var tracing: JSONValue {
        SchemaParts.mapping(
            "Exports what becomes of events as spans of OpenTelemetry; nothing when left out.",
            required: ["otlp"],
            [
                (
                    "otlp",
                    SchemaParts.text("The URL of a collector that takes OTLP over HTTP, as in http://127.0.0.1:4318.")
                ),
                (
                    "sample",
                    [
                        "description": "The part of the events that is traced; 0.01 when left out.", "type": "number",
                        "minimum": 0, "maximum": 1,
                    ]
                ),
                (
                    "headers_file",
                    SchemaParts.text("A file with headers for the collector, a line each: authorization: Bearer …")
                ),
                ("service", SchemaParts.text("What the collector knows this router as; carillon when left out.")),
            ]
        )
    }

    static var subscribePage: JSONValue {
        SchemaParts.mapping(
            "The page /subscribe at the relay socket's address, where people without an app register; none when left out.",
            [
                ("app", SchemaParts.text("The app that people register for; default when left out.")),
                (
                    "topic_server",
                    SchemaParts.text(
                        "The ntfy server that the page proposes for topics; https://ntfy.sh when left out.",
                        pattern: "^https?://[^/]"
                    )
                ),
                (
                    "client",
                    SchemaParts.text(
                        "Where a tap leads until a person chooses, with {nevent}, {note}, {npub} or {id}; what a "
                            + "notification says when left out.",
                        pattern: "^https?://[^/].*\\{(nevent|note|npub|id)\\}"
                    )
                ),
            ]
        )
    }

    private static var relays: JSONValue {
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

/// The schema of the block `sealed_ingress`.
enum SealedIngressSchema {
    static var schema: JSONValue {
        SchemaParts.mapping(
            "Takes push messages of Web Push senders for an app: POST /push/<device token>/<account>.",
            [
                ("listen", SchemaParts.text("An address and a port; 127.0.0.1:7449 when left out.")),
                ("app", SchemaParts.text("The app whose block is used; default when left out.")),
                (
                    "platform",
                    SchemaParts.text("The platform of the app's devices; the only one that offers it when left out.")
                ),
                (
                    "loc_key",
                    SchemaParts.text("What is shown when the app cannot decrypt: a key of its Localizable.strings.")
                ),
                (
                    "trusted_proxies",
                    SchemaParts.oneOrMore(
                        "Networks of proxies whose X-Forwarded-For counts, as CIDR blocks; this machine when left out."
                    )
                ),
                ("limits", limits),
            ]
        )
    }

    private static var limits: JSONValue {
        let many = 1...1_000_000
        return SchemaParts.mapping(
            "What one client may do.",
            [
                ("devices", SchemaParts.integer("Devices that are remembered.", 1...100_000_000)),
                ("connections", SchemaParts.integer("Connections at the same time.", many)),
                ("connections_per_client", SchemaParts.integer("Connections of one client at the same time.", many)),
                ("per_client_per_second", SchemaParts.integer("Requests of one client a second, over time.", many)),
                ("client_burst", SchemaParts.integer("Requests of one client at once.", many)),
                (
                    "client_bytes_per_second",
                    SchemaParts.integer(
                        "Bytes of one client's messages a second, over time; eight times as many at once.",
                        1_024...1_073_741_824
                    )
                ),
                ("per_device_per_minute", SchemaParts.integer("Messages for one device a minute, over time.", many)),
                ("device_burst", SchemaParts.integer("Messages for one device at once.", many)),
                ("waiting", SchemaParts.integer("Messages that wait for the disk at the same time.", many)),
            ]
        )
    }
}

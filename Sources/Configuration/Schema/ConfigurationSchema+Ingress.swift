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
                    "description": "The use of wake-up hints from partners (kind 20062).",
                    "anyOf": [
                        ["enum": .texts(HintPolicy.allCases.map(\.rawValue))],
                        SchemaParts.mapping(
                            nil,
                            [
                                ("mode", SchemaParts.choice("The use of hints.", HintPolicy.allCases.map(\.rawValue))),
                                (
                                    "silent_minutes",
                                    SchemaParts.time(
                                        "The time after its last hint in which a partner counts as active. Default: 60.",
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
                    "The clients that may register.",
                    [
                        ("require_session", SchemaParts.flag("Whether a NIP-46 session is required. Default: false.")),
                        (
                            "secret_file",
                            SchemaParts.text(
                                "The file with the secrets that open a session, one per line. Default: no secret is required."
                            )
                        ),
                    ]
                )
            ),
            (
                "context",
                [
                    "description": "Names and notes that notifications refer to; or off: none are fetched or stored.",
                    "anyOf": [
                        ["enum": ["off", false]],
                        SchemaParts.mapping(
                            nil,
                            [
                                (
                                    "wait_milliseconds",
                                    SchemaParts.time(
                                        "How long a notification waits for data from relays. Default: 1500.",
                                        0...10_000
                                    )
                                ),
                                (
                                    "path",
                                    SchemaParts.text(
                                        "The file with fetched data; it can be deleted at any time. Default: a file next to the store."
                                    )
                                ),
                            ]
                        ),
                    ],
                ]
            ),
            (
                "trace",
                [
                    "description": "The limits for stored results of events, for carillon explain; or off.",
                    "anyOf": [
                        ["enum": ["off", false]],
                        SchemaParts.mapping(
                            nil,
                            [
                                ("rows", SchemaParts.integer("The maximum number of entries.", TraceLimits.rowRange)),
                                ("days", SchemaParts.time("The maximum age of an entry.", TraceLimits.dayRange)),
                                (
                                    "keep_events_hours",
                                    SchemaParts.time(
                                        "How long whole events with their content are stored for carillon rules diff. Default: "
                                            + "none are stored.",
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
                    "Permanently failed deliveries, kept for carillon queue; 0 for either disables it.",
                    [
                        ("days", SchemaParts.time("The maximum age of a delivery.", DeadLetterLimits.dayRange)),
                        ("rows", SchemaParts.integer("The maximum number of deliveries.", DeadLetterLimits.rowRange)),
                    ]
                )
            ),
            ("tracing", tracing),
        ]
    }

    private static var tracing: JSONValue {
        SchemaParts.mapping(
            "The export of events as OpenTelemetry spans. Default: off.",
            required: ["otlp"],
            [
                (
                    "otlp",
                    SchemaParts.text("The URL of a collector for OTLP over HTTP, such as http://127.0.0.1:4318.")
                ),
                (
                    "sample",
                    [
                        "description": "The fraction of events that is traced. Default: 0.01.", "type": "number",
                        "minimum": 0, "maximum": 1,
                    ]
                ),
                (
                    "headers_file",
                    SchemaParts.text("A file with headers for the collector, one per line: authorization: Bearer …")
                ),
                ("service", SchemaParts.text("The router's service name at the collector. Default: carillon.")),
            ]
        )
    }

    static var subscribePage: JSONValue {
        SchemaParts.mapping(
            "The page /subscribe at the relay socket's address, where people without an app register. Default: none.",
            [
                ("app", SchemaParts.text("The app that people register for. Default: default.")),
                (
                    "topic_server",
                    SchemaParts.text(
                        "The ntfy server that the page suggests for topics. Default: https://ntfy.sh.",
                        pattern: "^https?://[^/]"
                    )
                ),
                (
                    "client",
                    SchemaParts.text(
                        "The default target of a tap, with {nevent}, {note}, {npub} or {id}. Default: the "
                            + "notification's URL.",
                        pattern: "^https?://[^/].*\\{(nevent|note|npub|id)\\}"
                    )
                ),
            ]
        )
    }

    private static var relays: JSONValue {
        SchemaParts.mapping(
            "Other relays that the router connects to.",
            [
                (
                    "always",
                    SchemaParts.oneOrMore("Permanent connections, on which all accounts are watched. Default: none.")
                ),
                (
                    "per_user",
                    SchemaParts.choice(
                        "The source of a user's own relays: nip65, registration or none. Default: nip65.",
                        RelaySource.allCases.map(\.rawValue)
                    )
                ),
                (
                    "nip46",
                    SchemaParts.oneOrMore("Relays for sessions in addition to the own socket. Default: 'always'.")
                ),
                ("publish", SchemaParts.oneOrMore("Relays that get the router's advertisement. Default: 'always'.")),
                (
                    "catch_up_hours",
                    SchemaParts.time("How far back a relay is read after a disconnection. Default: 48.", 1...720)
                ),
            ]
        )
    }
}

/// The schema of the block `sealed_ingress`.
enum SealedIngressSchema {
    static var schema: JSONValue {
        SchemaParts.mapping(
            "Accepts push messages of Web Push senders for an app: POST /push/<device token>/<account>.",
            [
                ("listen", SchemaParts.text("An address and a port. Default: 127.0.0.1:7449.")),
                ("app", SchemaParts.text("The app whose block is used. Default: default.")),
                (
                    "platform",
                    SchemaParts.text("The platform of the app's devices. Default: the only one that supports it.")
                ),
                (
                    "loc_key",
                    SchemaParts.text("The text if the app cannot decrypt: a key of its Localizable.strings.")
                ),
                (
                    "trusted_proxies",
                    SchemaParts.oneOrMore(
                        "Networks of proxies whose X-Forwarded-For is believed, as CIDR blocks. Default: this machine."
                    )
                ),
                ("limits", limits),
            ]
        )
    }

    private static var limits: JSONValue {
        let many = 1...1_000_000
        return SchemaParts.mapping(
            "Limits for clients and devices.",
            [
                ("devices", SchemaParts.integer("Stored devices.", 1...100_000_000)),
                ("connections", SchemaParts.integer("Connections at the same time.", many)),
                ("connections_per_client", SchemaParts.integer("Connections of one client at the same time.", many)),
                ("per_client_per_second", SchemaParts.integer("Requests of one client per second, on average.", many)),
                ("client_burst", SchemaParts.integer("Requests of one client in a burst.", many)),
                (
                    "client_bytes_per_second",
                    SchemaParts.integer(
                        "Bytes of one client's messages per second, on average; bursts may have eight times as many.",
                        1_024...1_073_741_824
                    )
                ),
                ("per_device_per_minute", SchemaParts.integer("Messages for one device per minute, on average.", many)),
                ("device_burst", SchemaParts.integer("Messages for one device in a burst.", many)),
                ("waiting", SchemaParts.integer("Messages that wait to be written to disk.", many)),
            ]
        )
    }
}

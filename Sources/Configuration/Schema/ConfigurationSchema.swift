import JSON
import Push
import Relays
import Rules

/// The JSON Schemas of the files that operators write, as in `contrib/schema`, composed from the descriptions of the
/// loaded plugins.
package enum Schemas {
    package static func rules(_ platforms: PlatformCatalog) -> String { RuleSchema.text(platforms: platforms) }
    package static func configuration(_ platforms: PlatformCatalog) -> String {
        ConfigurationSchema.schema(platforms).prettyPrinted + "\n"
    }
}

/// The JSON Schema (draft 2020-12) of the configuration file. Values of any type can be strings if they come from the
/// environment.
enum ConfigurationSchema {
    static func schema(_ platforms: PlatformCatalog) -> JSONValue {
        .members(
            [
                ("$schema", "https://json-schema.org/draft/2020-12/schema"),
                ("title", "Carillon configuration"),
                ("description", "The settings of a Carillon router. Relative paths start from this file's folder."),
            ]
                + SchemaParts.mapping(
                    required: ["identity", "store"],
                    identity + ways + [
                        (
                            "rules",
                            SchemaParts.oneOrMore("Rules files, evaluated in this order. Default: the built-in rules.")
                        ),
                        ("plugins", PluginSchema.schema),
                        ("http", http),
                    ] + pacing(platforms) + [
                        ("filter_plugins", FilterSchema.schema),
                        ("apps", apps(platforms)),
                        ("sealed_ingress", SealedIngressSchema.schema),
                        ("subscribe", subscribePage),
                        ("api", APISchema.schema), access, log,
                        ("operational_events", OperationalEventsSchema.schema),
                        ("cluster", ClusterSchema.schema),
                        (
                            "shutdown_seconds",
                            SchemaParts.time(
                                "The time limit for a shutdown; unfinished deliveries are kept. Default: 10.",
                                1...3_600
                            )
                        ),
                    ]
                ).members
        )
    }

    private static var identity: [SchemaParts.Member] {
        [
            (
                "identity",
                SchemaParts.mapping(
                    "The router's identity.",
                    required: ["key_file"],
                    [
                        (
                            "key_file",
                            SchemaParts.text("The file with the router's secret key; created on the first start.")
                        )
                    ]
                )
            ),
            (
                "store",
                SchemaParts.mapping(
                    "The database of registrations and deliveries.",
                    required: ["path"],
                    [
                        ("path", SchemaParts.text("The SQLite database; others are next to it.")),
                        (
                            "max_waiting",
                            SchemaParts.integer(
                                "The maximum number of queued deliveries on disk; above it, sources of events wait. Default: 1000000.",
                                Configuration.maxWaitingRange
                            )
                        ),
                    ]
                )
            ),
            (
                "relay",
                SchemaParts.mapping(
                    "The router's own relay socket.",
                    [
                        ("listen", SchemaParts.text("An address and a port. Default: 127.0.0.1:7447.")),
                        (
                            "url",
                            SchemaParts.text(
                                "The URL for clients, wss://… or ws://….",
                                pattern: "^wss?://"
                            )
                        ),
                        ("name", SchemaParts.text("The router's name in the NIP-11 document and the advertisement.")),
                        ("description", SchemaParts.text("The description there.")),
                        (
                            "contact",
                            SchemaParts.text("The contact there, such as mailto:ops@example.com.")
                        ),
                        (
                            "terms_of_service",
                            SchemaParts.text("The URL of the terms of service there, https://….", pattern: "^https?://")
                        ),
                        (
                            "trusted_proxies",
                            SchemaParts.oneOrMore(
                                "Networks of proxies whose X-Forwarded-For is believed, as CIDR blocks. Default: this machine."
                            )
                        ),
                        (
                            "limits",
                            SchemaParts.mapping(
                                "Limits for one client, and limits in total.",
                                RelayLimit.all.map {
                                    ($0.key, SchemaParts.integer("\($0.about) Default: \($0.standard).", $0.range))
                                }
                            )
                        ),
                    ]
                )
            ),
        ]
    }

    private static var http: JSONValue {
        SchemaParts.mapping(
            "Outgoing connections.",
            [
                ("ca_file", SchemaParts.text("Additional root certificates, as PEM.")),
                (
                    "allow_private",
                    SchemaParts.oneOrMore(
                        "Private networks that users' endpoints may be in, as CIDR blocks. Default: none."
                    )
                ),
                (
                    "proxy",
                    SchemaParts.text(
                        "A proxy for requests to push services, such as http://proxy.example:3128; not used for relays.",
                        pattern: "^(https?|socks4a?|socks5h?)://[^/]+:[0-9]+/?$"
                    )
                ),
            ]
        )
    }

    private static func apps(_ platforms: PlatformCatalog) -> JSONValue {
        [
            "description":
                "The apps by name, with a block for each platform. Registrations without an app belong to 'default'.",
            "type": "object",
            "additionalProperties": [
                "type": "object",
                "properties": .members(
                    [
                        (
                            "rules",
                            SchemaParts.oneOrMore("The app's own rules files, evaluated before the common ones.")
                        )
                    ] + PlatformBlockSchema.all(platforms)
                ),
                // Platforms of plugins without a description.
                "additionalProperties": ["type": "object"],
            ],
        ]
    }
}

/// The schema of the block `api`.
enum APISchema {
    static var schema: JSONValue {
        SchemaParts.mapping(
            "The HTTP API for operators, their tools and monitoring: health, metrics, devices, reload.",
            required: ["token_file"],
            [
                ("listen", SchemaParts.text("An address and a port. Default: 127.0.0.1:7448.")),
                (
                    "token_file",
                    SchemaParts.text("The file with the token for full access; created on the first start.")
                ),
                ("open_metrics", SchemaParts.flag("Whether metrics need no token. Default: false.")),
                (
                    "public_url",
                    SchemaParts.text(
                        "The public URL of the API's /plugins/, for plugins that accept requests, and of its /v1/me, which signed requests name. Default: none.",
                        pattern: "^https?://[^?#]+$"
                    )
                ),
                (
                    "trusted_proxies",
                    SchemaParts.oneOrMore(
                        "Networks of proxies whose X-Forwarded-For is believed there, as CIDR blocks. Default: this machine."
                    )
                ),
                (
                    "sign_on",
                    SchemaParts.mapping(
                        "Single sign-on by a proxy in trusted_proxies, which authenticates people.",
                        required: ["header", "users"],
                        [
                            (
                                "header",
                                SchemaParts.text(
                                    "The header in which the proxy sends the user's name, such as X-Forwarded-User."
                                )
                            ),
                            (
                                "users",
                                [
                                    "description":
                                        "The scopes of users by name: read, operate, send. * stands for all others.",
                                    "type": "object",
                                    "additionalProperties": SchemaParts.oneOrMore("One scope or a list of them."),
                                ]
                            ),
                        ]
                    )
                ),
                (
                    "stream_readers",
                    SchemaParts.integer(
                        "The maximum number of concurrent readers of /v1/stream. 0 disables it. Default: 20.",
                        0...10_000
                    )
                ),
            ]
        )
    }
}

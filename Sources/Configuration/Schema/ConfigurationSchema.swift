import JSON
import Push
import Relays
import Rules

/// The JSON Schemas of the files that operators write, as in `contrib/schema`, composed from the descriptions of the
/// loaded plugins.
package enum Schemas {
    /// Returns the schema of rules files.
    package static func rules(_ platforms: PlatformCatalog) -> String { RuleSchema.text(platforms: platforms) }
    /// Returns the schema of the configuration file.
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
                ("description", "Everything an operator decides. Relative paths start from this file's folder."),
            ]
                + SchemaParts.mapping(
                    required: ["identity", "store"],
                    identity + ways + [
                        (
                            "rules",
                            SchemaParts.oneOrMore("Rules files, asked in this order; the built-in rules when left out.")
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
                            SchemaParts.integer(
                                "How long stopping may take in all; what is not through by then is kept.",
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
                    "Who this router is.",
                    required: ["key_file"],
                    [("key_file", SchemaParts.text("The file with our secret key; made on the first start."))]
                )
            ),
            (
                "store",
                SchemaParts.mapping(
                    "Where registrations and deliveries are kept.",
                    required: ["path"],
                    [
                        ("path", SchemaParts.text("The SQLite database; others lie beside it.")),
                        (
                            "max_waiting",
                            SchemaParts.integer(
                                "How many deliveries may wait on disk; from there on sources wait. 1000000 when left out.",
                                Configuration.mostWaitingRange
                            )
                        ),
                    ]
                )
            ),
            (
                "relay",
                SchemaParts.mapping(
                    "Our own relay socket.",
                    [
                        ("listen", SchemaParts.text("An address and a port; 127.0.0.1:7447 when left out.")),
                        (
                            "url",
                            SchemaParts.text(
                                "The URL under which clients reach it, wss://… or ws://….",
                                pattern: "^wss?://"
                            )
                        ),
                        ("name", SchemaParts.text("What the NIP-11 document and our advertisement call us.")),
                        ("description", SchemaParts.text("What they say of us.")),
                        (
                            "contact",
                            SchemaParts.text("Whom they name, such as mailto:ops@example.com.")
                        ),
                        (
                            "terms_of_service",
                            SchemaParts.text("Where they say that our terms are, https://….", pattern: "^https?://")
                        ),
                        (
                            "trusted_proxies",
                            SchemaParts.oneOrMore(
                                "Networks of proxies whose X-Forwarded-For counts, as CIDR blocks; this machine when left out."
                            )
                        ),
                        (
                            "limits",
                            SchemaParts.mapping(
                                "What one client may do, and what there may be altogether.",
                                RelayLimit.all.map {
                                    ($0.key, SchemaParts.integer("\($0.about) \($0.standard) when left out.", $0.range))
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
                ("ca_file", SchemaParts.text("Further root certificates, as PEM.")),
                (
                    "allow_private",
                    SchemaParts.oneOrMore("Private networks that users' endpoints may lie in, as CIDR blocks.")
                ),
                (
                    "proxy",
                    SchemaParts.text(
                        "A proxy for requests to push services, as in http://proxy.example:3128; not for relays.",
                        pattern: "^(https?|socks4a?|socks5h?)://[^/]+:[0-9]+/?$"
                    )
                ),
            ]
        )
    }

    private static func apps(_ platforms: PlatformCatalog) -> JSONValue {
        [
            "description":
                "By an app's name a block for each platform it is on; registrations that name no app mean 'default'.",
            "type": "object",
            "additionalProperties": [
                "type": "object",
                "properties": .members(
                    [
                        (
                            "rules",
                            SchemaParts.oneOrMore("Rules files of this app's own, asked before the common ones.")
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
            "What operators, their tools and monitoring ask the running router: health, metrics, devices, reload.",
            required: ["token_file"],
            [
                ("listen", SchemaParts.text("An address and a port; 127.0.0.1:7448 when left out.")),
                ("token_file", SchemaParts.text("The file with the token that opens it; made on the first start.")),
                ("open_metrics", SchemaParts.flag("Show metrics without the token too.")),
                (
                    "public_url",
                    SchemaParts.text(
                        "The URL under which others reach the API's /plugins/, for plugins that take requests, and its /v1/me, which signed requests name; none when left out.",
                        pattern: "^https?://[^?#]+$"
                    )
                ),
                (
                    "trusted_proxies",
                    SchemaParts.oneOrMore(
                        "Networks of proxies whose X-Forwarded-For counts there, as CIDR blocks; this machine when left out."
                    )
                ),
                (
                    "sign_on",
                    SchemaParts.mapping(
                        "Single sign-on by a proxy among trusted_proxies, which asks people who they are.",
                        required: ["header", "users"],
                        [
                            (
                                "header",
                                SchemaParts.text(
                                    "The header field in which the proxy names people, as in X-Forwarded-User."
                                )
                            ),
                            (
                                "users",
                                [
                                    "description":
                                        "What each may do, by name: read, operate, send. * stands for everybody else.",
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
                        "How many may read /v1/stream at the same time; 20 when left out. 0 closes it.",
                        0...10_000
                    )
                ),
            ]
        )
    }
}

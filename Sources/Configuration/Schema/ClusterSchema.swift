import JSON
import Rules

/// The schema of the block `cluster`.
enum ClusterSchema {
    static var schema: JSONValue {
        SchemaParts.mapping(
            "Several routers as one, over NATS JetStream: the manual's page on scaling says how.",
            required: ["nats", "name"],
            [
                (
                    "nats",
                    SchemaParts.oneOrMore("The servers, nats://HOST:4222, or tls://HOST:4222 to insist on TLS.")
                ),
                ("name", SchemaParts.text("What this member is called, which no other member is: \(MemberName.form).")),
                (
                    "prefix",
                    SchemaParts.text(
                        "What the names of streams, buckets and subjects begin with. \(Configuration.Cluster.standardPrefix) when left out."
                    )
                ),
                (
                    "partitions",
                    SchemaParts.integer(
                        "Into how many parts accounts are divided. Never changes. 32 when left out.",
                        Configuration.Cluster.partitionRange
                    )
                ),
                (
                    "replicas",
                    SchemaParts.integer("How many servers keep each message: 1, 3 or 5. 3 when left out.", 1...5)
                ),
                (
                    "credentials",
                    SchemaParts.mapping(
                        "Who the router is to the servers: one of these.",
                        [
                            ("creds_file", SchemaParts.text("A credentials file, as nsc writes it.")),
                            ("nkey_file", SchemaParts.text("A file with the seed of an nkey.")),
                            ("token_file", SchemaParts.text("A file with a token.")),
                            ("user", SchemaParts.text("A user, with password_file.")),
                            ("password_file", SchemaParts.text("A file with the user's password.")),
                        ]
                    )
                ),
                (
                    "tls",
                    SchemaParts.mapping(
                        "How connections to the servers are secured.",
                        [
                            ("ca_file", SchemaParts.text("Roots in place of the system's, as PEM.")),
                            ("certificate_file", SchemaParts.text("The router's own certificate, as PEM.")),
                            ("key_file", SchemaParts.text("The key of that certificate, as PEM.")),
                            ("first", SchemaParts.flag("TLS begins before the server greets (handshake_first).")),
                        ]
                    )
                ),
                (
                    "monitoring",
                    SchemaParts.oneOrMore(
                        "The servers' monitoring, http://HOST:8222: shows whether they flush before they acknowledge."
                    )
                ),
                (
                    "max_bytes",
                    SchemaParts.mapping(
                        "What the streams may hold at most, in bytes. Servers set that aside.",
                        [
                            (
                                "log",
                                SchemaParts.integer(
                                    "The logs of all partitions. 1073741824 (1 GiB) when left out.",
                                    Configuration.Cluster.capacityRange
                                )
                            ),
                            (
                                "snapshots",
                                SchemaParts.integer(
                                    "Snapshots: twice what waits and what is registered. 2147483648 (2 GiB) when left out.",
                                    Configuration.Cluster.capacityRange
                                )
                            ),
                            (
                                "registry",
                                SchemaParts.integer(
                                    "The registry's latest changes. 1073741824 (1 GiB) when left out.",
                                    Configuration.Cluster.capacityRange
                                )
                            ),
                            (
                                "requests",
                                SchemaParts.integer(
                                    "A day's requests at POST /v1/notify, of which the oldest go first. 1073741824 (1 GiB) when left out.",
                                    Configuration.Cluster.capacityRange
                                )
                            ),
                        ]
                    )
                ),
                (
                    "snapshot_after",
                    SchemaParts.integer(
                        "After so many changes of the registry a snapshot takes the place of older ones. 10000 when left out.",
                        Configuration.Cluster.snapshotRange
                    )
                ),
                (
                    "accept_loss_on_power_cut",
                    SchemaParts.flag(
                        "Take servers without sync_interval: always, which may lose what they acknowledged when all lose power."
                    )
                ),
            ]
        )
    }
}

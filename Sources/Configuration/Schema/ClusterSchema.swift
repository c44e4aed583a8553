import JSON
import Rules

/// The schema of the block `cluster`.
enum ClusterSchema {
    static var schema: JSONValue {
        SchemaParts.mapping(
            "Several routers that work as one, over NATS JetStream; see the manual's page on scaling.",
            required: ["nats", "name"],
            [
                (
                    "nats",
                    SchemaParts.oneOrMore("The servers, nats://HOST:4222, or tls://HOST:4222 to require TLS.")
                ),
                ("name", SchemaParts.text("The name of this member, unique in the cluster: \(MemberName.form).")),
                (
                    "prefix",
                    SchemaParts.text(
                        "The prefix of streams, buckets and subjects. Default: \(Configuration.Cluster.standardPrefix)."
                    )
                ),
                (
                    "partitions",
                    SchemaParts.integer(
                        "The number of partitions of accounts. It can never change. Default: 32.",
                        Configuration.Cluster.partitionRange
                    )
                ),
                (
                    "replicas",
                    SchemaParts.integer("The number of servers that store each message: 1, 3 or 5. Default: 3.", 1...5)
                ),
                (
                    "credentials",
                    SchemaParts.mapping(
                        "The router's credentials for the servers: one of these.",
                        [
                            ("creds_file", SchemaParts.text("A credentials file in the format of nsc.")),
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
                        "The TLS settings for connections to the servers.",
                        [
                            ("ca_file", SchemaParts.text("Root certificates to use instead of the system's, as PEM.")),
                            ("certificate_file", SchemaParts.text("The router's client certificate, as PEM.")),
                            ("key_file", SchemaParts.text("The key of that certificate, as PEM.")),
                            (
                                "first",
                                SchemaParts.flag(
                                    "Whether TLS starts before the server's greeting (handshake_first). Default: false."
                                )
                            ),
                        ]
                    )
                ),
                (
                    "monitoring",
                    SchemaParts.oneOrMore(
                        "The servers' monitoring URLs, http://HOST:8222, to check whether they flush data before they acknowledge it."
                    )
                ),
                (
                    "max_bytes",
                    SchemaParts.mapping(
                        "The maximum size of streams, in bytes, which servers reserve.",
                        [
                            (
                                "log",
                                SchemaParts.integer(
                                    "The logs of all partitions. Default: 1073741824 (1 GiB).",
                                    Configuration.Cluster.capacityRange
                                )
                            ),
                            (
                                "snapshots",
                                SchemaParts.integer(
                                    "Snapshots: twice the size of queues and registrations. Default: 2147483648 (2 GiB).",
                                    Configuration.Cluster.capacityRange
                                )
                            ),
                            (
                                "registry",
                                SchemaParts.integer(
                                    "The registry's latest changes. Default: 1073741824 (1 GiB).",
                                    Configuration.Cluster.capacityRange
                                )
                            ),
                            (
                                "requests",
                                SchemaParts.integer(
                                    "One day's requests to POST /v1/notify; the oldest are removed first. Default: 1073741824 (1 GiB).",
                                    Configuration.Cluster.capacityRange
                                )
                            ),
                        ]
                    )
                ),
                (
                    "snapshot_after",
                    SchemaParts.integer(
                        "The number of registry changes after which a new snapshot replaces the old one. Default: 10000.",
                        Configuration.Cluster.snapshotRange
                    )
                ),
                (
                    "accept_loss_on_power_cut",
                    SchemaParts.flag(
                        "Whether to accept servers without sync_interval: always, which may lose acknowledged data if all lose power. Default: false."
                    )
                ),
            ]
        )
    }
}

import Rules

/// The schema of the block on the sealed ingress.
enum SealedIngressSchema {
    static var schema: JSONTree {
        SchemaParts.mapping(
            "Takes push messages of Web Push senders for an app on iPhones: POST /push/<device token>/<account>.",
            [
                ("listen", SchemaParts.text("An address and a port; 127.0.0.1:7449 when left out.")),
                ("app", SchemaParts.text("The app whose ios block is used.")),
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

    private static var limits: JSONTree {
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

import Rules

/// The schemas of the blocks that belong to Carillon's own plugins, which check them themselves.
enum PlatformBlockSchema {
    /// By platform.
    static var all: [SchemaParts.Member] {
        [
            ("ios", ios), ("android", android), ("web", web),
            (
                "unifiedpush",
                SchemaParts.mapping(
                    "UnifiedPush: endpoints are the users' own; keys are for apps that give one to their distributor.",
                    vapid
                )
            ),
            ("ntfy", wakeTexts("ntfy: topics are the users' own.")),
            ("gotify", wakeTexts("Gotify: servers are the users' own.")),
        ]
    }

    private static var ios: JSONTree {
        SchemaParts.mapping(
            "APNs: an app on Apple's systems.",
            required: ["topic"],
            [
                ("topic", SchemaParts.text("The app's bundle id.")),
                ("team_id", SchemaParts.text("The team's id, 10 letters and digits.")),
                ("key_id", SchemaParts.text("The key's id, 10 letters and digits.")),
                ("key_file", SchemaParts.text("Apple's .p8 file with the key.")),
                ("key", SchemaParts.text("The text of that file instead, as in ${APNS_KEY}.")),
                ("certificate_file", SchemaParts.text("A push certificate in place of a key, in PEM or as .p12.")),
                ("certificate_key_file", SchemaParts.text("Its private key in PEM, unless it is in the same file.")),
                ("certificate_password_file", SchemaParts.text("A file with the passphrase of either.")),
                (
                    "environment",
                    SchemaParts.text("production, sandbox or https://host:port; production when left out.")
                ),
                ("sandbox", SchemaParts.text("https://host:port in place of Apple's server for development builds.")),
                ("port", ["description": "Of Apple's servers; 443 when left out.", "enum": [443, 2197]]),
                (
                    "try_other_environment",
                    SchemaParts.flag(
                        "Whether a device unknown in one environment is tried once in the other; false when left out."
                    )
                ),
                (
                    "broadcast_key_file",
                    SchemaParts.text("A file with the key that registrations of broadcast channels must name.")
                ),
                (
                    "broadcast_management",
                    SchemaParts.text("https://host:port in place of Apple's server that manages channels.")
                ),
            ]
        )
    }

    private static var android: JSONTree {
        SchemaParts.mapping(
            "FCM: an app on Android.",
            [
                ("service_account", SchemaParts.text("The service account's JSON file.")),
                (
                    "service_account_json",
                    [
                        "description": "The content of that file instead, as in ${FIREBASE_JSON}.",
                        "type": ["object", "string"],
                    ]
                ),
                ("project_id", SchemaParts.text("The Firebase project's id; the service account's when left out.")),
                ("origin", SchemaParts.text("https://host:port in place of Google's servers.")),
                (
                    "direct_boot_ok",
                    [
                        "description":
                            "Whether messages may reach the app before the device is first unlocked; false when left out.",
                        "type": "boolean",
                    ]
                ),
            ]
        )
    }

    private static var web: JSONTree {
        SchemaParts.mapping(
            "Web Push: an app in browsers.",
            required: ["subject"],
            vapid + [
                ("navigate", SchemaParts.text("What a tap opens when a notification names no url.")),
                (
                    "allowed_hosts",
                    [
                        "description": "Push services that messages may go to; all when left out.",
                        "type": "array", "items": ["type": "string"],
                    ]
                ),
            ]
        )
    }

    private static var vapid: [SchemaParts.Member] {
        [
            ("vapid_key_file", SchemaParts.text("A private key on P-256 in PEM, with which messages are signed.")),
            ("vapid_key", SchemaParts.text("The text of that file instead, as in ${VAPID_KEY}.")),
            ("subject", SchemaParts.text("Where push services find you, such as mailto:ops@example.com.")),
            (
                "old_vapid_key_files",
                [
                    "description": "Keys that were in use before, for subscriptions that know no other.",
                    "type": "array", "items": ["type": "string"],
                ]
            ),
        ]
    }

    private static func wakeTexts(_ description: String) -> JSONTree {
        SchemaParts.mapping(
            description,
            [
                ("wake_message", SchemaParts.text("What a wake-up shows.")),
                ("batch_message", SchemaParts.text("What one shows that stands for {n} events.")),
            ]
        )
    }
}

import JSON
import Pipeline
import Push
import Rules
import Storage

extension Configuration {
    /// A signal that a setting names, which may not exist.
    package struct NamedSignal: Sendable, Hashable {
        package let name: String
        /// The path of the keys that contain it.
        package let path: String
        package let line: Int
        package let column: Int
    }

    /// A filter of a plugin, and the devices that have it.
    package struct Filter: Sendable {
        /// The plugin's name for it.
        package var name: String
        package var availability = FilterAvailability.maySwitchOff
        package var onError = EventFilter.OnError.pass
        /// A JSON object, interpreted by the plugin.
        package var settings = "{}"
        /// The position of the block in the file, for errors that only the plugin finds.
        package var line: Int
        /// The signals that the settings name, as far as the router knows the settings' meaning.
        package var signals: [NamedSignal] = []

        package init(name: String, line: Int) {
            self.name = name
            self.line = line
        }
    }
}

// MARK: The keys of the file

extension Configuration.Filter {
    /// The maximum number of filters that the pipeline supports.
    private static let limit = 64
    /// The settings of Carillon's own filters that name signals, in a list or as the keys of a mapping.
    private static let signalSettings = ["noise": ["except", "difficulty"], "web-of-trust": ["except"]]

    static var key: Key<Configuration> {
        Key(
            "filter_plugins",
            schema: { _, platforms in
                func filter(_ about: String?, _ settings: JSONValue) -> JSONValue {
                    block(about, settings).schema(Self(name: "", line: 0), platforms)
                }
                let noise = "Drops events with too many mentions, small zaps, too little proof of work, and bursts."
                return [
                    "type": "object",
                    "properties": [
                        "mutes": filter("Drops what the recipient mutes (NIP-51, kind 10000).", FilterSchema.mutes),
                        "web-of-trust": filter(
                            "Drops events of authors outside the recipient's follow graph.",
                            FilterSchema.webOfTrust
                        ),
                        "noise": filter(noise, FilterSchema.noise),
                    ],
                    // Filters of other plugins.
                    "additionalProperties": filter(nil, FilterSchema.others),
                ]
            },
            read: { value, configuration, reader in
                // The order is that of the file.
                let members = value.mapping()?.members ?? []
                if members.count > limit { value.mistake("expected at most \(limit) filters") }
                configuration.filters = members.map { name, value in
                    var filter = Self(name: name, line: value.line)
                    block(nil, FilterSchema.others).read(value, into: &filter, reader)
                    return filter
                }
                return true
            }
        )
        .about(
            "The filters by name, with the settings of their plugins and their devices; called in this order. Default: none."
        )
    }

    private static func block(_ about: String?, _ settings: JSONValue) -> Block<Self> {
        Block(about) {
            Key.choice("devices", \.availability)
                .about(
                    "Whether a registration may choose: always, may-switch-off or may-switch-on. Default: may-switch-off."
                )
            Key.choice("on_error", \.onError).about("The decision about an event if the filter fails. Default: pass.")
            Key("settings", settings) { value, filter, reader in
                guard value.mapping() != nil, let json = value.json() else { return false }
                filter.settings = BlockFiles().resolving(json, reader.path)
                filter.signals = signals(in: value, of: filter.name)
                return true
            }
        }
    }

    /// Returns the signals; malformed settings are left to the plugin's own check.
    private static func signals(in settings: YAMLValue, of name: String) -> [Configuration.NamedSignal] {
        let members = settings.mapping()?.members ?? []
        return members.filter { signalSettings[name]?.contains($0.key) == true }.flatMap { _, value in
            let keys = value.isMapping ? value.mapping()?.members ?? [] : []
            let elements = value.isList ? value.list() ?? [] : []
            let named =
                keys.map { (name: $0.key, value: $0.value) }
                + elements.compactMap { element in element.writtenText.map { (name: $0, value: element) } }
            return named.map { name, value in
                Configuration.NamedSignal(
                    name: name,
                    path: value.path,
                    line: value.place.line,
                    column: value.place.column
                )
            }
        }
    }
}

/// The schemas of filters' settings, which plugins check, even those of Carillon.
private enum FilterSchema {
    static let others: JSONValue = ["description": "The plugin's own settings.", "type": "object"]

    static var mutes: JSONValue {
        schema("The entries of a mute list that are applied. Default: all.") {
            Key("people", SchemaParts.flag).about("Whether muted accounts are dropped.")
            Key("words", SchemaParts.flag).about("Whether muted words are dropped.")
            Key("whole_words", SchemaParts.flag)
                .about("Whether a muted word matches whole words only. Default: false.")
            Key("hashtags", SchemaParts.flag).about("Whether muted hashtags are dropped.")
            Key("threads", SchemaParts.flag).about("Whether muted threads are dropped.")
            Key("remembered_events", SchemaParts.integer(1...1_000_000))
                .about("The maximum number of stored events of muted threads. Default: 10000.")
        }
    }

    static var webOfTrust: JSONValue {
        schema("The authors whose events notify the recipient.") {
            Key("level", SchemaParts.choice(["follows", "follows-of-follows"]))
                .required("the trusted accounts")
                .about(
                    "The trusted accounts: those the recipient follows; with follows-of-follows those they follow too."
                )
            Key("except", signals).about("Signals that always pass, such as dm.")
            Key("unknown", SchemaParts.choice(["pass", "drop"]))
                .about("The decision about events of unknown authors. Default: pass.")
            Key("undecided", SchemaParts.choice(["pass", "drop"]))
                .about("The decision if relays do not respond in time. Default: drop.")
            Key("min_zap_sats", SchemaParts.integer(satoshis))
                .about("The amount from which a zap always passes, from any sender.")
        }
    }

    static var noise: JSONValue {
        schema("The definition of noise. Omitted settings are not checked.") {
            Key("except", signals).about("Signals that always pass, such as dm.")
            Key("hellthread", SchemaParts.integer(1...100_000))
                .about("The maximum number of accounts that an event may mention.")
            Key("min_zap_sats", SchemaParts.integer(satoshis)).about("The minimum amount of a zap.")
            Key("min_zap_sats_from_follows", SchemaParts.integer(satoshis))
                .about("The minimum amount of a zap from accounts that the recipient follows.")
            Key("difficulty", difficulty)
                .about("The required proof of work of an event (NIP-13), in bits; or a mapping by signal.")
            Key("difficulty_from_follows", SchemaParts.flag)
                .about("Whether accounts that the recipient follows need proof of work too. Default: false.")
            Key.block(
                "burst",
                Block("The maximum rate of events from one author to one recipient.") {
                    Key("events", SchemaParts.integer(1...100))
                        .required("the number of events")
                        .about("The number of events that pass.")
                    Key("seconds", SchemaParts.integer(1...86_400))
                        .required("the time span")
                        .about("The time span in seconds.")
                }
            )
        }
    }

    private static func schema(_ about: String, @KeyList<Void> _ keys: () -> [Key<Void>]) -> JSONValue {
        Block(about, keys).schema((), PlatformCatalog())
    }

    private static let satoshis = 0...2_100_000_000_000_000
    private static let signals: JSONValue = [
        "type": "array", "items": SchemaParts.text(SignalSchema.pattern).about("A signal."),
    ]

    private static var difficulty: JSONValue {
        let bits: JSONValue = ["type": "integer", "minimum": 0, "maximum": 256]
        let bySignal: JSONValue = [
            "type": "object", "propertyNames": ["pattern": .string(SignalSchema.pattern)],
            "additionalProperties": bits,
        ]
        return ["anyOf": [bits, bySignal]]
    }
}

extension Key<Void> {
    /// Makes a key that is only described.
    fileprivate init(_ name: String, _ schema: JSONValue) {
        self.init(name, schema) { _, _, _ in true }
    }
}

import Console
import Core
import Delivery
import HTTPClient
import JSON
import Listeners
import Observability
import Pipeline
import Push
import Registry
import RelayServer
import Rules
import Storage
import WebIngress

/// All settings of an operator, read from one YAML file. Paths are absolute, or unchanged if no file was read.
package struct Configuration: Sendable {
    package var identity: Identity
    package var store: Store
    package var relay = Relay()
    package var relays = Relays()
    package var hints = Hints()
    package var registration = Registration()
    package var access = Access()
    package var log = Log()
    package var context = Context()
    /// The limits for stored results of events; nil: none are stored.
    package var trace: TraceLimits? = TraceLimits()
    /// The maximum number and age of stored dead letters.
    package var deadLetters = DeadLetterLimits()
    package var tracing = Tracing()
    /// The recipients of operational events; nil: none.
    package var operationalEvents: OperationalEvents?
    /// An additional stream of events to read; nil: none. Set on the command line, not in the file.
    package var feed: Feed?
    /// The rules files, evaluated in this order; empty: the built-in rules.
    package var rulesFiles: [String] = []
    /// The sealed ingress; nil: none.
    package var sealedIngress: SealedIngress?
    /// The page for people without an app; nil: none.
    package var subscribePage: SubscribePage?
    /// The API for operators and their tools; nil: none.
    package var api: API?
    /// The cluster; nil: a single router.
    package var cluster: Cluster?
    /// The time limit for a shutdown, from one second to one hour. Unfinished work is kept for the next start.
    package var shutdownTime: Duration = .seconds(10)
    /// The environment variables that the configuration comes from; nil: it comes from a file. It then contains only the
    /// sealed ingress, which is required.
    package var environment: Environment?
    package var plugins = Plugins()
    package var http = HTTP()
    package var defaults = Defaults()
    /// The filters, called in this order for each event that would send a notification.
    package var filters: [Filter] = []
    /// The apps by name; a registration that names none belongs to `default`.
    package var apps: [String: App] = [:]

    /// The configuration file; nil if none was read.
    package var file: String?

    package init(keyFile: String, storePath: String) {
        identity = Identity(keyFile: keyFile)
        store = Store(path: storePath)
    }

    /// The router's identity.
    package struct Identity: Sendable {
        /// The file with our secret key; created on the first run if it is missing.
        package var keyFile: String
        /// The position of the block in the file, for errors that occur only on use; 0 if no file was read.
        package var place = (line: 0, column: 0)
    }

    /// The database of registrations, and the files next to it.
    package struct Store: Sendable {
        /// The SQLite database.
        package var path: String
        /// The maximum number of queued deliveries on disk; above it, sources of events wait.
        package var maxWaiting = 1_000_000
        /// The position of the block in the file, for errors that occur only on use; 0 if no file was read.
        package var place = (line: 0, column: 0)

        /// The outbox, a separate file, so that registrations and deliveries do not block each other.
        package var outboxPath: String { path + "-outbox" }
        /// The results of events, which can be deleted at any time.
        package var tracePath: String { path + "-trace" }
        /// Whole events of the last hours, if `trace.keep_events_hours` is set; they can be deleted at any time.
        package var keptEventsPath: String { path + "-events" }
        /// Queued requests to operators' endpoints.
        package var webhooksPath: String { path + "-webhooks" }
        /// The socket for commands to a running router. Only its user and root may enter the folder.
        package var adminSocketPath: String { path + "-admin/socket" }
    }

    /// Outgoing HTTP.
    package struct HTTP: Sendable, Equatable {
        /// Additional root certificates, as PEM.
        package var caFile: String?
        /// The digest of that file when the configuration was read; nil if it was not.
        var caFileFingerprint: FileFingerprint?
        /// Private networks that users' endpoints may be in, as CIDR blocks.
        package var allowPrivate: [String] = []
        /// A proxy's URL, which may contain a password; nil: none.
        package var proxy: String?
        /// The maximum number of connections to one busy push service; nil: the router decides.
        package var connectionsPerOrigin: Int?
    }

    /// One app: a block for each of its platforms.
    package struct App: Sendable {
        /// The app of devices that name none.
        package static let defaultName = "default"

        /// Its own rules files, evaluated before the common ones.
        package var rulesFiles: [String] = []
        package var platforms: [String: PlatformBlock] = [:]
    }

    /// A platform's block, which belongs to its plugin.
    package struct PlatformBlock: Sendable {
        /// The block as a JSON object.
        package var json: String
        /// The folder that relative paths start from; empty: the working directory.
        package var folder = ""
        /// The position of the block in the file, for errors that only the plugin finds.
        package var line: Int
        /// Errors about unset environment variables; only if the file was read without credentials.
        package var unset: [Diagnostic] = []
        /// Strings that come from environment variables; only if the file was read without credentials.
        package var fromEnvironment: [String] = []

        /// Returns the block with relative paths resolved from the configuration's folder. The plugin's `description`
        /// marks their keys.
        package func json(for description: PlatformDescription?) -> String {
            BlockFiles(description).resolving(json) { $0.hasPrefix("/") || folder.isEmpty ? $0 : "\(folder)/\($0)" }
        }
    }
}

// MARK: The keys of the file

extension Configuration {
    /// The whole file. Keys are read in this order, because some need others that are read before them.
    static var block: Block<Configuration> {
        Block {
            Key.block("identity", \.identity, Identity.block).required(
                "the router's key, such as { key_file: carillon.key }"
            )
            Key.block("store", \.store, Store.block)
                .required("the database of registrations and deliveries, such as { path: carillon.sqlite }")
            Key.block("relay", \.relay, Relay.block)
            Key.block("relays", Relays.block)
            Hints.key
            Key.block("registration", \.registration, Registration.block)
            Context.key
            traceKey
            Key.block("dead_letters", \.deadLetters, deadLetterBlock)
            Key.block("tracing", \.tracing, Tracing.block)
            Key("rules", \.rulesFiles, SchemaParts.oneOrMore) { value, reader in reader.rulesFiles(value) }
                .about("Rules files, evaluated in this order. Default: the built-in rules.")
            Key.block("plugins", \.plugins, Plugins.block)
            Key.block("http", \.http, HTTP.block)
            Defaults.key
            Key.block("bounds", Defaults.bounds)
            Filter.key
            App.key
            sealedIngressKey
            subscribeKey
            Key.block("api", \.api, from: API(tokenFile: ""), API.block)
            Key.block("access", Access.block)
            Key.block("log", \.log, Log.block)
            Key.block("operational_events", \.operationalEvents, from: OperationalEvents(), OperationalEvents.block)
            Key.block("cluster", \.cluster, from: Cluster(), Cluster.block)
            Key.integer("shutdown_seconds", \.shutdownTime, of: .seconds, 1...3_600)
                .about("The time limit for a shutdown; unfinished deliveries are kept. Default: {default}.")
        } check: { mapping, configuration, _ in
            configuration.checkListeners(mapping)
        }
    }

    /// Reports listeners with the same port: at startup the second would find it in use.
    private func checkListeners(_ top: YAMLMapping) {
        var taken = [("relay", relay.host, relay.port)]
        let others = [
            ("sealed_ingress", sealedIngress.map { ($0.web.host, $0.web.port) }),
            ("api", api.map { ($0.console.host, $0.console.port) }),
        ]
        for (name, address) in others {
            guard let (host, port) = address, port != 0 else { continue }
            for (other, otherHost, otherPort) in taken
            where otherPort == port && (otherHost == host || !Self.anyAddress.isDisjoint(with: [host, otherHost])) {
                top[name]?.mistake("listens on port \(port), which \(other) uses too; expected another port")
            }
            taken.append((name, host, port))
        }
    }

    private static let anyAddress: Set = ["0.0.0.0", "::"]
}

extension Configuration.Identity {
    fileprivate static var block: Block<Self> {
        Block("The router's identity.") {
            Key.file("key_file", \.keyFile).required("the file with the router's secret key")
                .about("The file with the router's secret key; created on the first start.")
        } check: { mapping, identity, _ in
            identity.place = mapping.value.place
        }
    }
}

extension Configuration.Store {
    fileprivate static var block: Block<Self> {
        Block("The database of registrations and deliveries.") {
            Key.file("path", \.path).required("the database file")
                .about("The SQLite database; others are next to it.")
            Key.integer("max_waiting", \.maxWaiting, 1...100_000_000)
                .about(
                    "The maximum number of queued deliveries on disk; above it, sources of events wait. Default: {default}."
                )
        } check: { mapping, store, _ in
            store.place = mapping.value.place
        }
    }
}

extension Configuration.HTTP {
    fileprivate static var block: Block<Self> {
        Block("Outgoing connections.") {
            Key("ca_file", SchemaParts.text()) { value, http, reader in
                guard let name = value.string().map(reader.path) else { return false }
                http.caFile = name
                http.caFileFingerprint = FileFingerprint(of: name)
                if let flaw = RootCertificates.flaw(ofFile: name) { value.mistake(flaw) }
                return true
            }
            .about("Additional root certificates, as PEM.")
            Key.list("allow_private", \.allowPrivate) { value, _ in
                value.text(
                    expected: "a network, as in 10.1.2.0/24 or fd00::/8, with no bits set after the prefix",
                    where: { AddressBlock($0) != nil }
                )
            }.about("Private networks that users' endpoints may be in, as CIDR blocks. Default: none.")
            // Errors omit the value, which may contain a password.
            Key.text(
                "proxy",
                \.proxy,
                pattern: "^(https?|socks4a?|socks5h?)://[^/]+:[0-9]+/?$",
                expected: "a proxy, as in \(Proxy.form)"
            ) { Proxy($0) != nil }
            .about("A proxy for requests to push services, such as http://proxy.example:3128; not used for relays.")
        }
    }
}

extension Configuration.App {
    fileprivate static var key: Key<Configuration> {
        Key(
            "apps",
            schema: { _, platforms in
                [
                    "type": "object",
                    "additionalProperties": [
                        "type": "object",
                        "properties": .members(
                            [
                                (
                                    "rules",
                                    SchemaParts.oneOrMore.about(
                                        "The app's own rules files, evaluated before the common ones."
                                    )
                                )
                            ] + PlatformBlockSchema.all(platforms)
                        ),
                        // Platforms of plugins without a description.
                        "additionalProperties": ["type": "object"],
                    ],
                ]
            },
            read: { value, configuration, reader in
                for (name, value) in value.mapping()?.members ?? [] {
                    configuration.apps[name] = Self(value, reader)
                }
                return true
            }
        )
        .about("The apps by name, with a block for each platform. Registrations without an app belong to 'default'.")
    }

    private init(_ value: YAMLValue, _ reader: ConfigurationReader) {
        for (platform, block) in value.mapping()?.members ?? [] {
            if platform == "rules" {
                rulesFiles = reader.rulesFiles(block)
            } else if let block = Configuration.PlatformBlock(block, reader) {
                platforms[platform] = block
            }
        }
    }
}

extension Configuration.PlatformBlock {
    fileprivate init?(_ block: YAMLValue, _ reader: ConfigurationReader) {
        guard block.mapping() != nil else { return nil }
        var unset: [Diagnostic] = []
        var fromEnvironment: [String] = []
        let text =
            reader.isWithoutCredentials
            ? block.json(unset: { unset.append($0) }, fromEnvironment: { fromEnvironment.append($0) })
            : block.json()
        guard let json = text else { return nil }
        self.init(
            json: json,
            folder: reader.folder,
            line: block.line,
            unset: unset,
            fromEnvironment: fromEnvironment
        )
    }
}

/// The schemas of platforms' blocks, from the descriptions of their plugins.
enum PlatformBlockSchema {
    /// Returns all schemas, sorted by platform.
    static func all(_ platforms: PlatformCatalog) -> [SchemaParts.Member] {
        platforms.platforms.compactMap { name in
            platforms[name].map { (name, $0.configuration.jsonSchema) }
        }
    }
}

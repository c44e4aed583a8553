import Console
import Core
import Delivery
import HTTPClient
import Listeners
import Observability
import Pipeline
import Push
import Registry
import RelayServer
import Storage

/// Everything an operator decides, read from one YAML file. Paths are absolute, or as given where no file was read.
package struct Configuration: Sendable {
    /// The file with our secret key; made on the first run when it is missing.
    package var keyFile: String
    /// The SQLite database.
    package var storePath: String
    /// How many deliveries may wait on disk; from there on sources wait.
    package var mostWaiting = 1_000_000
    /// Line and column of what is named in the file, for mistakes that show only when it is used; 0 where no file was
    /// read.
    package var keyFilePlace = (line: 0, column: 0)
    package var storePlace = (line: 0, column: 0)
    package var relay = Relay()
    package var relays = Relays()
    package var hints = Hints()
    package var registration = Registration()
    package var access = Access()
    package var log = Log()
    package var context = Context()
    /// How much is kept of what became of events; nil: nothing.
    package var trace: TraceLimits? = TraceLimits()
    /// How many deliveries that failed for good are kept, and for how long.
    package var deadLetters = DeadLetterLimits()
    /// Where the way of events is exported to as spans; nil: nowhere.
    package var tracing: TracingSettings?
    /// Who is told what happens to the router; nil: nobody is.
    package var operationalEvents: OperationalEvents?
    /// Where the block on that stands, for mistakes that show only when it is used; 0 where no file was read.
    package var tracingPlace = (line: 0, column: 0)
    /// A stream of events to read besides; nil: none. Not in the file: whoever starts us says so.
    package var feed: Feed?
    /// The rules files, whose rules are asked in this order; none: the built-in rules.
    package var rulesFiles: [String] = []
    /// Nil: none.
    package var sealedIngress: SealedIngress?
    /// The page for people without an app; nil: none.
    package var subscribePage: SubscribePage?
    /// What operators and their tools ask the running router; nil: no port.
    package var api: API?
    /// Nil: one router alone.
    package var cluster: Cluster?
    /// How long stopping may take in all, from a second to an hour. What is not through by then is kept for the next
    /// start.
    package var shutdownTime: Duration = .seconds(10)
    /// Whether it came from environment variables: then there is nothing but the sealed ingress, and no use in starting
    /// without.
    package var isOfEnvironment = false
    /// The variables that stand for keys of the platform's block, by key; only where it came from the environment.
    package var environmentNames: [String: String] = [:]
    package var plugins = Plugins()
    package var http = HTTP()
    /// What a device gets that asked for no mode.
    package var defaultMode: Mode = .wake
    /// When and how often devices are woken.
    package var pacing = PacingPolicy()
    /// Where platforms are named that have a pace of their own.
    package var pacingPlaces: [String: (line: Int, column: Int)] = [:]
    /// Asked in this order about each event that would wake somebody.
    package var filters: [Filter] = []
    /// By name; a registration that names none belongs to `default`.
    package var apps: [String: App] = [:]

    /// The names of all apps that devices may belong to.
    package var appNames: [String] { Set(apps.keys).union(sealedIngress.map { [$0.app] } ?? []).sorted() }

    /// The file that all this was read from; nil where it came from none.
    package var file: String?

    static let mostWaitingRange = 1...100_000_000

    package init(keyFile: String, storePath: String) {
        self.keyFile = keyFile
        self.storePath = storePath
    }

    /// Our own relay socket.
    package struct Relay: Sendable, Equatable {
        package var host = "127.0.0.1"
        package var port = 7447
        /// The URL under which clients reach it; empty: `ws://` and where it listens.
        package var url = ""
        /// What the NIP-11 document and the advertisement call us.
        package var name = "Carillon"
        package var description = "A notification relay: register a device, be woken."
        package var contact: String?
        /// A URL.
        package var termsOfService: String?
        /// Whose word on who a client is counts.
        package var trustedProxies = TrustedProxies()
        /// What one client may do.
        package var limits = RelayServerConfiguration.Limits()
        /// What registrations there may be.
        package var registrations = RegistrationPolicy.Limits()

        /// The URL under which clients reach us when the socket listens at `port`.
        package func clientURL(port: Int) -> String {
            url.isEmpty ? "ws://\(host.contains(":") ? "[\(host)]" : host):\(port)" : url
        }
    }

    /// Outgoing HTTP.
    package struct HTTP: Sendable, Equatable {
        /// Further root certificates, as PEM.
        package var caFile: String?
        /// Of that file, when the configuration was read; nil where it was not.
        var caFileFingerprint: FileFingerprint?
        /// Private networks that users' endpoints may lie in after all, as CIDR blocks.
        package var allowPrivate: [String] = []
        /// A proxy's URL, which may hold a password; nil: none.
        package var proxy: String?
        /// Connections to one busy push service at most; nil: as many as suit most.
        package var connectionsPerOrigin: Int?
    }

    /// One app: a block for each platform it is on.
    package struct App: Sendable {
        /// Whose devices those are that name no app.
        package static let defaultName = "default"

        /// Its own rules files, whose rules are asked before the common ones.
        package var rulesFiles: [String] = []
        package var platforms: [String: PlatformBlock] = [:]
    }

    /// A platform's block, which belongs to its plugin.
    package struct PlatformBlock: Sendable {
        /// A JSON object, as it is in the file.
        package var json: String
        /// The folder that relative paths start from; empty: the working directory.
        package var folder = ""
        /// Where the block stands in the file, for mistakes that only the plugin finds.
        package var line: Int
        /// What it lacks, as an environment variable is not set; only where the file was read without credentials.
        package var unset: [Diagnostic] = []
        /// Its texts that environment variables stand for; only where the file was read without credentials.
        package var fromEnvironment: [String] = []

        /// The block with its relative paths from the configuration's folder on. The plugin's `description` says under
        /// which keys they are.
        package func json(for description: PlatformDescription?) -> String {
            BlockFiles(description).resolving(json) { $0.hasPrefix("/") || folder.isEmpty ? $0 : "\(folder)/\($0)" }
        }
    }
}

extension Configuration {
    /// The HTTP server for operators, their tools and monitoring.
    package struct API: Sendable {
        /// The file with the token, made on the first run when it is missing.
        package var tokenFile: String
        /// Where the file is named; 0 where no file was read.
        package var place = (line: 0, column: 0)
        /// Where it listens and what one client may do.
        package var console = ConsoleConfiguration()
        /// Whose word on who a client is counts, where plugins are reached from outside.
        package var trustedProxies = TrustedProxies() {
            didSet {
                console.isTrustedProxy = trustedProxies.contains
                console.inbound?.isTrustedProxy = trustedProxies.contains
            }
        }
        /// Who is signed on at a proxy, and what they may do; nil: nobody is.
        package var signOn: SignOn?
        /// How many may read what happens at the same time. They do not take others' connections away.
        package var streamReaders = defaultStreamReaders {
            didSet { console.limits.connections += streamReaders - oldValue }
        }

        package static let defaultStreamReaders = 20

        package init(tokenFile: String) {
            self.tokenFile = tokenFile
            console.isTrustedProxy = trustedProxies.contains
            console.limits.connections += streamReaders
        }
    }

    /// Single sign-on for the API by a proxy that asks people who they are.
    package struct SignOn: Sendable, Equatable {
        /// The header field in which the proxy names them, in lower case.
        package var header: String
        /// What each may do, by name; `*` stands for everybody else.
        package var scopes: [String: Set<APIScope>]
    }
}

extension Configuration {
    /// A signal that a setting names, which may not exist.
    package struct NamedSignal: Sendable, Hashable {
        package let name: String
        /// The keys that lead there.
        package let path: String
        package let line: Int
        package let column: Int
    }

    /// A filter of a plugin, and the devices that have it.
    package struct Filter: Sendable {
        /// As its plugin calls it.
        package var name: String
        package var availability = FilterAvailability.maySwitchOff
        package var onError = EventFilter.OnError.pass
        /// A JSON object, which belongs to the plugin.
        package var settings = "{}"
        /// Where the block stands in the file, for mistakes that only the plugin finds.
        package var line: Int
        /// The signals that the settings name, as far as we know which of them do.
        package var signals: [NamedSignal] = []

        package init(name: String, line: Int) {
            self.name = name
            self.line = line
        }
    }
}

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

/// All settings of an operator, read from one YAML file. Paths are absolute, or unchanged if no file was read.
package struct Configuration: Sendable {
    /// The file with our secret key; created on the first run if it is missing.
    package var keyFile: String
    /// The SQLite database.
    package var storePath: String
    /// The maximum number of queued deliveries on disk; above it, sources of events wait.
    package var maxWaiting = 1_000_000
    /// Line and column of the name in the file, for errors that occur only on use; 0 if no file was read.
    package var keyFilePlace = (line: 0, column: 0)
    package var storePlace = (line: 0, column: 0)
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
    /// The export of events as spans; nil: off.
    package var tracing: TracingSettings?
    /// The recipients of operational events; nil: none.
    package var operationalEvents: OperationalEvents?
    /// The position of that block, for errors that occur only on use; 0 if no file was read.
    package var tracingPlace = (line: 0, column: 0)
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
    /// Whether the configuration comes from environment variables: it then contains only the sealed ingress, which is
    /// required.
    package var isOfEnvironment = false
    /// The environment variables of the platform's block, by key; only if the configuration comes from the environment.
    package var environmentNames: [String: String] = [:]
    package var plugins = Plugins()
    package var http = HTTP()
    /// The mode of a device that requests none.
    package var defaultMode: Mode = .wake
    /// When and how often devices get pushes.
    package var pacing = PacingPolicy()
    /// The positions of platforms that have their own limits.
    package var pacingPlaces: [String: (line: Int, column: Int)] = [:]
    /// The filters, called in this order for each event that would send a notification.
    package var filters: [Filter] = []
    /// The apps by name; a registration that names none belongs to `default`.
    package var apps: [String: App] = [:]

    /// The names of all apps that devices may belong to.
    package var appNames: [String] { Set(apps.keys).union(sealedIngress.map { [$0.app] } ?? []).sorted() }

    /// The configuration file; nil if none was read.
    package var file: String?

    static let maxWaitingRange = 1...100_000_000

    package init(keyFile: String, storePath: String) {
        self.keyFile = keyFile
        self.storePath = storePath
    }

    /// Our own relay socket.
    package struct Relay: Sendable, Equatable {
        package var host = "127.0.0.1"
        package var port = 7447
        /// The URL for clients; empty: `ws://` and the listen address.
        package var url = ""
        /// Our name in the NIP-11 document and the advertisement.
        package var name = "Carillon"
        package var description = "A notification relay: register a device, be woken."
        package var contact: String?
        /// A URL.
        package var termsOfService: String?
        /// The proxies that may report a client's address.
        package var trustedProxies = TrustedProxies()
        /// The limits for one client.
        package var limits = RelayServerConfiguration.Limits()
        /// The limits on registrations.
        package var registrations = RegistrationPolicy.Limits()

        /// Returns the URL for clients if the socket listens at `port`.
        package func clientURL(port: Int) -> String {
            url.isEmpty ? "ws://\(host.contains(":") ? "[\(host)]" : host):\(port)" : url
        }
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

extension Configuration {
    /// The HTTP server for operators, their tools and monitoring.
    package struct API: Sendable {
        /// The file with the token, created on the first run if it is missing.
        package var tokenFile: String
        /// The position of its name in the file; 0 if no file was read.
        package var place = (line: 0, column: 0)
        /// The listen address and the limits for one client.
        package var console = ConsoleConfiguration()
        /// The proxies that may report a client's address, for plugins reachable from outside.
        package var trustedProxies = TrustedProxies() {
            didSet {
                console.isTrustedProxy = trustedProxies.contains
                console.inbound?.isTrustedProxy = trustedProxies.contains
            }
        }
        /// Single sign-on by a proxy; nil: off.
        package var signOn: SignOn?
        /// The maximum number of concurrent readers of the event stream. The connection limit grows by this number.
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

    /// Single sign-on for the API by a proxy that authenticates people.
    package struct SignOn: Sendable, Equatable {
        /// The header in which the proxy sends their name, in lower case.
        package var header: String
        /// The scopes of each person, by name; `*` stands for all others.
        package var scopes: [String: Set<APIScope>]
    }
}

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

import Core
import Delivery
import HTTPClient
import JSON
import Observability
import Relays
import Storage

/// Other sources of events and registrations than our own socket, and the data fetched for notifications.
extension Configuration {
    /// Other relays, which the router connects to.
    package struct Relays: Sendable, Equatable {
        /// The relays with a permanent connection, on which all registered accounts are watched.
        package var always: [RelayURL] = []
        /// The source of the additional relays on which a user is watched.
        package var perUser = RelaySource.nip65
        /// The relays for NIP-46 sessions, in addition to our own socket. Default: ``always``.
        package var nip46: [RelayURL] = []
        /// The relays for the advertisement (kind 10067). Default: ``always``.
        package var publish: [RelayURL] = []
        /// How far back a relay is read after a disconnection; 1 to 720 hours.
        package var catchUp: Duration = .hours(48)
    }

    /// Wake-up hints of partners (kind 20062, contrib/docs/registration.md).
    package struct Hints: Sendable, Equatable {
        package var policy = HintPolicy.also
        /// The time after its last hint in which a partner counts as active; 1 to 10,080 minutes.
        package var silentAfter: Duration = .minutes(60)
    }

    /// The rules for registrations.
    package struct Registration: Sendable {
        /// Whether a NIP-46 session is required.
        package var requireSession = false
        /// The file with the secrets that open a session, one per line; nil: no secret is required.
        package var secretFile: String?
        /// The position of its name in the configuration; 0 if no file was read.
        package var secretFilePlace = (line: 0, column: 0)
    }

    /// The data that notifications refer to: names, and the notes that are replied to.
    package struct Context: Sendable {
        /// Whether the router fetches and stores names and notes.
        package var isOn = true
        /// How long a notification waits for data to be fetched; 0 to 10 seconds.
        package var wait: Duration = .milliseconds(1_500)
        /// The file for fetched data; nil: a file next to the store.
        package var path: String?
        /// The position of its name in the configuration; 0 if no file was read.
        package var place = (line: 0, column: 0)

        /// Returns the file with fetched names and notes, which can be deleted at any time.
        package func file(nextTo store: Store) -> String { path ?? store.path + "-context" }
    }

    /// The export of events as spans.
    package struct Tracing: Sendable {
        /// Nil: off.
        package var settings: TracingSettings?
        /// The position of the block, for errors that occur only on use; 0 if no file was read.
        package var place = (line: 0, column: 0)
    }

    /// A stream of events as lines of JSON.
    package struct Feed: Sendable {
        /// A file or a FIFO, or `-` for standard input.
        package var path: String
        /// Whether to stop at its end, after all its events are processed.
        package var stopsAtEnd: Bool

        package init(path: String, stopsAtEnd: Bool = false) {
            self.path = path
            self.stopsAtEnd = stopsAtEnd
        }
    }
}

// MARK: The keys of the file

extension Configuration.Relays {
    /// Needs `relay`, whose URL must not be among these.
    static var block: Block<Configuration> {
        Block("Other relays that the router connects to.") {
            urls("always", \.relays.always)
                .about("Permanent connections, on which all accounts are watched. Default: none.")
            Key.choice("per_user", \.relays.perUser)
                .about("The source of a user's own relays: nip65, registration or none. Default: nip65.")
            urls("nip46", \.relays.nip46)
                .about("Relays for sessions in addition to the own socket. Default: 'always'.")
            urls("publish", \.relays.publish)
                .about("Relays that get the router's advertisement. Default: 'always'.")
            Key.integer("catch_up_hours", \.relays.catchUp, of: .hours, 1...720)
                .about("How far back a relay is read after a disconnection. Default: {default}.")
        } check: { mapping, configuration, _ in
            let always = configuration.relays.always
            if mapping["nip46"] == nil { configuration.relays.nip46 = always }
            if mapping["publish"] == nil { configuration.relays.publish = always }
        }
    }

    /// Relays, each once, in the order of the file.
    private static func urls(
        _ name: String,
        _ path: WritableKeyPath<Configuration, [RelayURL]>
    ) -> Key<Configuration> {
        Key(name, SchemaParts.oneOrMore) { value, configuration, _ in
            let own = RelayURL(configuration.relay.url)
            var urls: [RelayURL] = []
            for value in value.oneOrMore() {
                guard let text = value.string() else { continue }
                guard let url = RelayURL(text) else {
                    value.mistake("expected a relay's URL, as in wss://relay.example.com")
                    continue
                }
                if url == own {
                    value.mistake("this is the router's own relay socket (relay.url); remove it")
                } else if !urls.contains(url) {
                    urls.append(url)
                }
            }
            configuration[keyPath: path] = urls
            return true
        }
    }
}

extension Configuration.Hints {
    static var key: Key<Configuration> {
        let block = Block<Self> {
            Key.choice("mode", \.policy).about("The use of hints.")
            Key.integer("silent_minutes", \.silentAfter, of: .minutes, 1...10_080)
                .about("The time after its last hint in which a partner counts as active. Default: {default}.")
        }
        return Key.block("hints", \.hints, block).or(["enum": .texts(HintPolicy.allCases.map(\.rawValue))]) {
            word,
            configuration in
            configuration.hints.policy = word.choice() ?? configuration.hints.policy
        }
        .about("The use of wake-up hints from partners (kind 20062).")
    }
}

extension Configuration.Registration {
    static var block: Block<Self> {
        Block("The clients that may register.") {
            Key.flag("require_session", \.requireSession).about("Whether a NIP-46 session is required. Default: false.")
            Key.file("secret_file", \.secretFile, place: \.secretFilePlace)
                .about("The file with the secrets that open a session, one per line. Default: no secret is required.")
        }
    }
}

extension Configuration.Context {
    static var key: Key<Configuration> {
        let block = Block<Self> {
            Key.integer("wait_milliseconds", \.wait, of: .milliseconds, 0...10_000)
                .about("How long a notification waits for data from relays. Default: {default}.")
            Key.file("path", \.path, place: \.place)
                .about("The file with fetched data; it can be deleted at any time. Default: a file next to the store.")
        }
        return Key.block("context", \.context, block).or(["enum": ["off", false]]) { word, configuration in
            configuration.context.isOn = word.string() != "off"
            if configuration.context.isOn {
                word.mistake("expected off, or a mapping with wait_milliseconds, path")
            }
        }
        .about("Names and notes that notifications refer to; or off: none are fetched or stored.")
    }
}

extension Configuration {
    static var traceKey: Key<Configuration> {
        let block = Block<TraceLimits> {
            Key.integer("rows", \.rows, TraceLimits.rowRange).about("The maximum number of entries.")
            Key.integer("days", \.days, of: .days, TraceLimits.dayRange).about("The maximum age of an entry.")
            Key.integer("keep_events_hours", \.keptEvents, of: .hours, TraceLimits.keptEventsRange)
                .about(
                    "How long whole events with their content are stored for carillon rules diff. Default: none are stored."
                )
        } check: { _, limits, _ in
            if limits.keptEvents == .zero { limits.keptEvents = nil }
        }
        return Key.block("trace", \.trace, from: TraceLimits(), block).or(["enum": ["off", false]]) {
            word,
            configuration in
            if word.string() == "off" {
                configuration.trace = nil
            } else {
                word.mistake("expected off, or a mapping with rows, days, keep_events_hours")
            }
        }
        .about("The limits for stored results of events, for carillon explain; or off.")
    }

    static var deadLetterBlock: Block<DeadLetterLimits> {
        Block("Permanently failed deliveries, kept for carillon queue; 0 for either disables it.") {
            Key.integer("days", \.days, of: .days, DeadLetterLimits.dayRange).about("The maximum age of a delivery.")
            Key.integer("rows", \.rows, DeadLetterLimits.rowRange).about("The maximum number of deliveries.")
        }
    }
}

extension Configuration.Tracing {
    static var block: Block<Self> {
        let expected = "a collector's URL, as in http://127.0.0.1:4318"
        return Block("The export of events as OpenTelemetry spans. Default: off.") {
            Key("otlp", SchemaParts.text()) { value, tracing, _ in
                tracing.settings = value.string().flatMap { url in
                    let settings = TracingSettings(url: url)
                    if settings == nil { value.mistake("expected \(expected)") }
                    return settings
                }
                return tracing.settings != nil
            }
            .required(expected)
            .about("The URL of a collector for OTLP over HTTP, such as http://127.0.0.1:4318.")
            Key("sample", ["type": "number", "minimum": 0, "maximum": 1]) { value, tracing, _ in
                guard let text = value.string() else { return false }
                guard let part = Double(text), (0...1).contains(part) else {
                    value.mistake("expected the fraction of events to trace, from 0 to 1, such as 0.01")
                    return false
                }
                tracing.settings?.sample = part
                return true
            }
            .about("The fraction of events that is traced. Default: 0.01.")
            Key("headers_file", SchemaParts.text()) { value, tracing, reader in
                tracing.settings?.headersFile = value.string().map(reader.path)
                do throws(CollectorHeadersError) {
                    if !reader.isWithoutCredentials { _ = try tracing.settings?.headers() }
                } catch {
                    value.mistake(error.description)
                }
                return true
            }
            .about("A file with headers for the collector, one per line: authorization: Bearer …")
            Key("service", SchemaParts.text()) { value, tracing, _ in
                if let service = value.string(), !service.isEmpty { tracing.settings?.service = service }
                return true
            }
            .about("The router's service name at the collector. Default: carillon.")
        } check: { mapping, tracing, _ in
            tracing.place = mapping.value.place
        }
    }
}

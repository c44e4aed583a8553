import Console
import Core
import Delivery
import Nostr
import Pipeline
import PluginHost
import Push
import Registry
import RouterConfiguration
import Synchronization

/// The transports of all configured apps, each with its own block.
package struct Transports: Sendable {
    /// A platform of an app that could not be started.
    package struct Unavailable: Sendable {
        package let app: String
        package let platform: String
        /// The line of its block in the configuration.
        package let line: Int
        package let reason: String
        /// Whether a loaded plugin serves the platform.
        let hasPlugin: Bool
    }

    private var instances: [QueueName: TransportInstance] = [:]
    /// Fingerprints of the blocks, which detect changes.
    private var fingerprints: [QueueName: BlockFingerprint] = [:]
    package private(set) var failures: [Unavailable] = []

    /// Makes an instance for each block. If `former` has one with the same block and the same files, it is reused. So
    /// it keeps its state and its tokens, because push services limit how often tokens are renewed.
    package init(
        configuration: Configuration,
        plugins: PluginHost,
        settings: InstanceSettings,
        former: Transports? = nil
    ) {
        for (name, app) in configuration.apps {
            for (platform, block) in app.platforms {
                let queue = QueueName(platform: platform, app: name)
                let description = plugins.platformCatalog[platform]
                let json = block.json(for: description)
                let fingerprint = BlockFingerprint(of: json, BlockFiles(description))
                fingerprints[queue] = fingerprint
                if let instance = former?.instances[queue], former?.fingerprints[queue] == fingerprint {
                    instances[queue] = instance
                    continue
                }
                do {
                    instances[queue] = try plugins.makeTransport(
                        platform: platform,
                        app: name,
                        configuration: json,
                        settings: settings
                    )
                } catch {
                    failures.append(
                        Unavailable(
                            app: name,
                            platform: platform,
                            line: block.line,
                            reason: "\(error)",
                            hasPlugin: !error.isUnknownPlatform
                        )
                    )
                }
            }
        }
        failures.sort { ($0.line, $0.app) < ($1.line, $1.app) }
    }

    /// The active instances by queue.
    package var all: [QueueName: TransportInstance] { instances }

    subscript(queue: QueueName) -> (any Transport)? { instances[queue] }

    /// Returns an instance's response to a request from outside; nil if it accepts no requests.
    func receive(_ request: InboundRequest, for queue: QueueName) async -> InboundAnswer? {
        guard let instance = instances[queue], instance.isReachable else { return nil }
        return await instance.receive(request)
    }

    /// The served platforms, sorted.
    package var platforms: [String] { Set(instances.keys.map(\.platform)).sorted() }

    /// Throws a `RegistrationError` if no transport serves the address, or if its transport rejects the address.
    @Sendable func check(_ address: DeviceAddress) throws {
        guard let instance = instances[QueueName(address)] else {
            throw refusal(ofPlatformIn: address.app)
        }
        do {
            try instance.validate(address)
        } catch {
            throw error.isTemporary ? RegistrationError.failed("\(error)") : .invalid("\(error)")
        }
    }

    /// The message reveals no other apps.
    private func refusal(ofPlatformIn app: String) -> RegistrationError {
        let platforms = instances.keys.filter { $0.app == app }.map(\.platform).sorted()
        guard platforms.isEmpty else {
            return .unsupported(
                "registration field `platform`: expected a platform of this app: \(platforms.joined(separator: ", "))"
            )
        }
        return .unsupported(
            app == Configuration.App.defaultName
                ? "registration field `app`: expected the name of an app; this router has no app \(app)"
                : "registration field `app`: expected an app of this router; it has none with this name"
        )
    }
}

/// The active transports, which a reload replaces.
package final class ActiveTransports: Sendable {
    private struct State {
        var transports: Transports
        /// Replaced instances that still finish their work.
        var leaving: [TransportInstance] = []
        /// The counts of finished instances by queue, so that counters never decrease.
        var retired: [QueueName: RequestCounts] = [:]
        var retiredStreams: [QueueName: StreamCounts] = [:]
    }

    private let state: Mutex<State>

    /// The latest statuses from the transports' plugins.
    package let statuses = TransportStatuses()

    package init(_ transports: Transports) {
        state = Mutex(State(transports: transports))
    }

    package var current: Transports { state.withLock { $0.transports } }

    package subscript(queue: QueueName) -> (any Transport)? { current[queue] }

    /// Throws a `RegistrationError` if no transport serves the address, or if its transport rejects the address.
    @Sendable package func check(_ address: DeviceAddress) throws { try current.check(address) }

    /// Updates the statuses from the plugins.
    package func refreshStatuses() async { await statuses.look(at: current) }

    /// Replaces the transports, and returns the instances that are no longer active.
    package func replace(by new: Transports) -> [TransportInstance] {
        state.withLock { state in
            let leaving = state.transports.all.filter { queue, instance in new.all[queue] !== instance }.map(\.value)
            state.transports = new
            state.leaving += leaving
            return leaving
        }
    }

    /// Records that a replaced instance has finished.
    package func noteEnd(of instance: TransportInstance) {
        state.withLock { state in
            state.leaving.removeAll { $0 === instance }
            state.retired[instance.queue, default: RequestCounts()].add(instance.requests)
            state.retiredStreams[instance.queue, default: StreamCounts()].add(instance.streams)
        }
    }

    /// The HTTP requests of each queue's transports so far, including replaced ones.
    var requests: [QueueName: RequestCounts] {
        state.withLock { state in
            (state.transports.all.values + state.leaving).reduce(into: state.retired) { requests, instance in
                requests[instance.queue, default: RequestCounts()].add(instance.requests)
            }
        }
    }

    /// The same for streams.
    var streams: [QueueName: StreamCounts] {
        state.withLock { state in
            (state.transports.all.values + state.leaving).reduce(into: state.retiredStreams) { streams, instance in
                streams[instance.queue, default: StreamCounts()].add(instance.streams)
            }
        }
    }
}

extension TransportInstance {
    var queue: QueueName { QueueName(platform: platform, app: app) }
}

/// The latest status of each transport, from its plugin.
package final class TransportStatuses: Sendable {
    private let statuses = Mutex<[QueueName: TransportStatus]>([:])

    /// Asks all plugins. If a plugin does not respond within a few seconds, its previous status remains.
    func look(at transports: Transports) async {
        var found = statuses.withLock { $0.filter { transports.all[$0.key] != nil } }
        await withTaskGroup { group in
            for (queue, instance) in transports.all { group.addTask { (queue, await instance.status()) } }
            for await case (let queue, let status?) in group { found[queue] = status }
        }
        statuses.withLock { $0 = found }
    }

    /// The public settings for clients, by app, platform and name.
    package var clients: [String: [String: [String: [String]]]] {
        statuses.withLock { statuses in
            statuses.reduce(into: [:]) { clients, status in
                guard !status.value.clients.isEmpty else { return }
                clients[status.key.app, default: [:]][status.key.platform] = status.value.clients
            }
        }
    }

    /// The expiry times of credentials, in the order of the queues.
    var expiries: [(queue: QueueName, expiry: TransportStatus.Expiry)] {
        statuses.withLock { $0 }.sorted { $0.key < $1.key }
            .flatMap { queue, status in status.expiries.map { (queue: queue, expiry: $0) } }
    }

    /// The same as a metric.
    var family: MetricFamily {
        .gauge(
            "carillon_credential_expiry_timestamp_seconds",
            "Expiry of a transport's credentials in seconds since 1970, as its plugin reports it.",
            of: expiries
        ) { $0.add($1.1.at.seconds, ["platform": $1.0.platform, "app": $1.0.app, "what": $1.1.what]) }
    }
}

/// The configured filter plugins, each with its settings.
package struct Filters: Sendable {
    /// A filter plugin that could not be started.
    package struct Unavailable: Sendable {
        package let name: String
        /// The line of its block in the configuration.
        package let line: Int
        package let reason: String
    }

    /// In the configuration's order. This includes filter plugins that failed to start, for which `on_error` decides.
    package private(set) var all: [EventFilter] = []
    package private(set) var failures: [Unavailable] = []
    private var instances: [String: FilterInstance] = [:]
    /// Fingerprints of the settings, which detect changes.
    private var fingerprints: [String: BlockFingerprint] = [:]

    /// Makes an instance for each block. If `former` has one with the same settings, it is reused and keeps its state,
    /// such as known threads and senders.
    package init(
        configuration: Configuration,
        plugins: PluginHost,
        settings: InstanceSettings,
        former: Filters? = nil
    ) {
        for filter in configuration.filters {
            let fingerprint = BlockFingerprint(of: filter.settings)
            fingerprints[filter.name] = fingerprint
            do {
                let kept = former?.fingerprints[filter.name] == fingerprint ? former?.instances[filter.name] : nil
                let instance =
                    try kept ?? plugins.makeFilter(filter.name, configuration: filter.settings, settings: settings)
                instances[filter.name] = instance
                all.append(EventFilter(filter, asking: instance))
            } catch {
                failures.append(Unavailable(name: filter.name, line: filter.line, reason: "\(error)"))
                all.append(
                    EventFilter(name: filter.name, availability: filter.availability, onError: filter.onError) {
                        $0.map { _ in .failed(reason: "it could not start") }
                    }
                )
            }
        }
    }

    /// Returns the instances that `others` does not use.
    package func instances(without others: Filters) -> [FilterInstance] {
        instances.filter { name, instance in others.instances[name] !== instance }.map(\.value)
    }

    /// The kinds of recipients' own lists to request from relays.
    package var lists: Set<Kind> {
        let wanted = Set(all.flatMap(\.wantedKinds))
        return all.contains { $0.need > .nothing } ? wanted.union([.contactList]) : wanted
    }
}

extension EventFilter {
    fileprivate init(_ filter: Configuration.Filter, asking instance: FilterInstance) {
        self.init(
            name: filter.name,
            availability: filter.availability,
            onError: filter.onError,
            decideTogether: instance.decide
        )
        wantedKinds = instance.wantedKinds.map { Kind($0) }
        need = instance.need
        isAskedAfterRendering = instance.isAskedAfterRendering
    }
}

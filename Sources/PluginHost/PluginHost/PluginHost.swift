import Core
import Logging
import PluginProtocol
import Push
import Synchronization

/// Loads plugins, creates their instances and checks the deadlines.
package final class PluginHost: Sendable {
    private let assembly: Mutex<PluginAssembly>
    private let log: Logger
    private let processes: PluginProcesses
    private let instances = Mutex<[any DrainableInstance]>([])
    private let loadCount = Atomic<Int>(1)

    /// Loads every plugin that `search` finds. The log and the catalog name each refused plugin; the others still load.
    ///
    /// Loading runs the plugins' code in processes, which end with the host.
    package init(
        loading search: PluginSearch,
        isolation: IsolationSettings,
        log: Logger
    ) {
        processes = PluginProcesses(isolation, log: log)
        var assembly = PluginAssembly()
        assembly.load(search, in: processes)
        let catalog = assembly.catalog
        self.assembly = Mutex(assembly)
        self.log = log
        logChanges(catalog.plugins, catalog.refusals)
    }

    /// The loaded plugins, and the refusals of the last search.
    package var catalog: PluginCatalog { assembly.withLock { $0.catalog } }

    /// Loads plugins that `search` finds and that are not loaded yet. Loaded plugins stay, even if their files were
    /// replaced. The log names only new refusals. One caller at a time.
    package func loadFurther(_ search: PluginSearch) {
        let before = assembly.withLock { $0 }
        var after = before
        // Outside the lock, because it reads files and runs the plugins' code.
        after.load(search, in: processes)
        let catalog = after.catalog
        assembly.withLock { [after] in $0 = after }
        loadCount.add(1, ordering: .releasing)
        let refused = Set(before.catalog.refusals)
        logChanges(
            catalog.plugins.dropFirst(before.catalog.plugins.count),
            catalog.refusals.filter { !refused.contains($0) }
        )
    }

    /// The status of each process that runs plugins.
    package var processReports: [PluginProcessReport] { processes.reports }

    private func logChanges(_ plugins: some Sequence<LoadedPlugin>, _ refusals: [PluginLoadError]) {
        for plugin in plugins {
            log.info(
                "Loaded a plugin",
                metadata: [
                    "id": "\(plugin.id)", "version": "\(plugin.version)", "abi_minor": "\(plugin.abiMinor)",
                    "sha256": "\(plugin.sha256)", "path": "\(plugin.path)",
                ]
            )
        }
        for refusal in refusals {
            log.error("Refused a plugin", metadata: ["path": "\(refusal.path)", "reason": "\(refusal.reason)"])
        }
    }

    /// How often plugins were loaded. While this number is unchanged, so are the platforms' descriptions.
    package var loads: Int { loadCount.load(ordering: .acquiring) }

    /// The platforms that loaded plugins serve, sorted.
    package var platforms: [String] { assembly.withLock { $0.blueprints.keys.sorted() } }

    /// The loaded plugins' descriptions of their platforms. Platforms without a description are absent.
    package var platformCatalog: PlatformCatalog {
        PlatformCatalog(assembly.withLock { $0.blueprints.compactMapValues(\.entry.description) })
    }

    /// The loaded plugins' own checks of rule blocks, by platform. Each takes a block as JSON with literals only. It
    /// returns the error, which may start with a JSON pointer and `: `, or nil if there is none.
    package var blockChecks: [String: @Sendable (String) -> String?] {
        assembly.withLock { $0.blueprints.filter { $0.value.entry.functions.contains(.check) } }
            .mapValues { blueprint in { blueprint.mistake(in: $0) } }
    }

    /// The platforms whose transports encrypt notifications themselves, to keys of the registration. The host encrypts
    /// for all others.
    package var encryptingPlatforms: Set<String> {
        assembly.withLock { Set($0.blueprints.filter { $0.value.entry.encrypts }.keys) }
    }

    /// The platforms whose transports show every push to a person. The router sends no silent push there.
    package var showingPlatforms: Set<String> {
        assembly.withLock { Set($0.blueprints.filter { $0.value.entry.shows }.keys) }
    }

    /// Creates an instance of the transport for `platform`. `configuration` is a JSON object. Throws if no plugin
    /// serves the platform or the plugin refuses the configuration.
    ///
    /// Instances of one platform and app may exist at the same time. On a reload, create the new one, switch, and
    /// ``retire(_:within:)`` the old one.
    package func makeTransport(
        platform: String,
        app: String,
        configuration: String,
        settings: InstanceSettings
    ) throws(PluginError) -> TransportInstance {
        guard let blueprint = assembly.withLock({ $0.blueprints[platform] }) else {
            throw .unknownPlatform(platform, available: platforms)
        }
        let instance = try TransportInstance(blueprint, app: app, configuration: configuration, settings: settings)
        instances.withLock { $0.append(instance) }
        return instance
    }

    /// Creates an instance of the filter `name`. `configuration` holds its settings as a JSON object. Throws if no
    /// plugin offers the filter or the plugin refuses the settings. On a reload, create the new one, switch, and
    /// ``retire(_:within:)`` the old one.
    package func makeFilter(
        _ name: String,
        configuration: String,
        settings: InstanceSettings
    ) throws(PluginError) -> FilterInstance {
        let filters = assembly.withLock { $0.filters }
        guard let blueprint = filters[name] else {
            throw .unknownFilter(name, available: filters.keys.sorted())
        }
        let instance = try FilterInstance(blueprint, configuration: configuration, settings: settings)
        instances.withLock { $0.append(instance) }
        return instance
    }

    /// Ends deliveries of all instances whose deadline has passed.
    package func expireDeadlines() {
        for instance in instances.withLock(\.self) { instance.expireDeadlines() }
    }

    /// Ends overdue deliveries of all instances every 250 ms, until the task is cancelled.
    package func run() async {
        while (try? await Task.sleep(for: .milliseconds(250))) != nil { expireDeadlines() }
    }

    /// Drains and destroys `instance`, waiting up to `span`. False if the plugin did not finish and the instance was
    /// not destroyed.
    package func retire(_ instance: any DrainableInstance, within span: Duration) async -> Bool {
        await whileKeepingDeadlines {
            let isDestroyed = await instance.drain(within: span)
            self.instances.withLock { $0.removeAll { $0 === instance } }
            self.processes.rest()
            return isDestroyed
        }
    }

    /// Drains and destroys all instances at the same time, waiting up to `span`.
    package func shutDown(within span: Duration) async {
        await withTaskGroup { group in
            for instance in instances.withLock(\.self) {
                group.addTask { _ = await self.retire(instance, within: span) }
            }
        }
    }

    /// Checks deadlines while `body` runs, because draining needs them and may start after ``run()`` was cancelled.
    private func whileKeepingDeadlines<Result: Sendable>(
        _ body: @escaping @Sendable () async -> Result
    ) async -> Result {
        let keeper = Task { await run() }
        defer { keeper.cancel() }
        return await body()
    }
}

/// Why an instance of a transport or filter was not created, a registration not accepted, or a command not run. Each
/// message names the platform or filter first.
package enum PluginError: Error, Sendable, Hashable, CustomStringConvertible {
    case unknownPlatform(String, available: [String])
    case refusedConfiguration(String, saying: String)
    case refusedRegistration(String, saying: String)
    /// The plugin could not check the registration.
    case uncheckedRegistration(String, saying: String)
    case refusedCommand(String, saying: String)
    /// The plugin ran the command, and the command failed.
    case failedCommand(String, saying: String)
    case unknownFilter(String, available: [String])
    case refusedSettings(String, saying: String)

    /// Whether a retry may succeed: the plugin's process hangs or is restarting.
    package var isTemporary: Bool {
        if case .uncheckedRegistration = self { true } else { false }
    }

    /// Whether no loaded plugin serves the platform.
    package var isUnknownPlatform: Bool {
        if case .unknownPlatform = self { true } else { false }
    }

    package var description: String {
        switch self {
        case .unknownPlatform(let name, let available):
            "no loaded plugin serves \(name); available: \(available.isEmpty ? "none" : available.joined(separator: ", "))"
        case .refusedConfiguration(let name, let text): "the \(name) transport refuses its configuration: \(text)"
        case .refusedRegistration(let name, let text): "the \(name) transport refuses the registration: \(text)"
        case .uncheckedRegistration(let name, let text):
            "the \(name) transport could not check the registration: \(text)"
        case .refusedCommand(let name, let text): "the \(name) transport did not run the command: \(text)"
        case .failedCommand(_, let text): text
        case .unknownFilter(let name, let available):
            "no loaded plugin offers the filter \(name); available: \(available.isEmpty ? "none" : available.joined(separator: ", "))"
        case .refusedSettings(let name, let text): "the filter \(name) refuses its settings: \(text)"
        }
    }
}

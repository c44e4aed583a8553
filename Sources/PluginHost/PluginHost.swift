import Logging
import Platforms
import PluginIsolation
import Synchronization
import Units

/// Loads plugins and keeps their instances going.
package final class PluginHost: Sendable {
    private let assembly: Mutex<PluginAssembly>
    private let log: Logger
    /// Nil: all plugins run in this process.
    private let processes: PluginProcesses?
    /// Nil: plugins in this process leave no notes.
    private let breadcrumbs: Breadcrumbs?
    private let instances = Mutex<[any DrainableInstance]>([])
    private let loadCount = Atomic<Int>(1)

    /// Loads every plugin that `search` finds. A bad one is refused, in the log and the catalog, and the rest goes on.
    ///
    /// Loading runs the plugins' code: in processes of their own as `isolation` says, which end with the host; nil: in
    /// this one, where libraries stay until it ends.
    /// Plugins in this one leave notes in `breadcrumbs`, if there are any.
    package init(
        loading search: PluginSearch,
        isolation: IsolationSettings? = nil,
        breadcrumbs: Breadcrumbs? = nil,
        log: Logger
    ) {
        processes = isolation.map { PluginProcesses($0, log: log) }
        self.breadcrumbs = breadcrumbs
        var assembly = PluginAssembly(breadcrumbs: breadcrumbs)
        assembly.load(search, in: processes)
        let catalog = assembly.catalog
        self.assembly = Mutex(assembly)
        self.log = log
        logChanges(catalog.plugins, catalog.refusals)
    }

    /// What loaded, and what did not when it was last looked for.
    package var catalog: PluginCatalog { assembly.withLock { $0.catalog } }

    /// Loads what `search` finds and is not loaded yet. What is loaded stays as it is, even where its file has been
    /// replaced. The log names what is refused now and was not before. One caller at a time.
    package func loadFurther(_ search: PluginSearch) {
        let before = assembly.withLock { $0 }
        var after = before
        // Not under the lock, as it reads files and runs the plugins' code.
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

    /// How the processes are doing that plugins run in, and plugins in this one on which it ended before.
    package var processReports: [PluginProcessReport] { (processes?.reports ?? []) + (breadcrumbs?.reports ?? []) }

    private func logChanges(_ plugins: some Sequence<LoadedPlugin>, _ refusals: [PluginRefusal]) {
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

    /// How often plugins were loaded. As long as it is the same, so is what the loaded ones say of their platforms.
    package var loads: Int { loadCount.load(ordering: .acquiring) }

    /// The platforms that loaded plugins serve, sorted.
    package var platforms: [String] { assembly.withLock { $0.blueprints.keys.sorted() } }

    /// What the loaded plugins say about their platforms. Platforms of plugins that say nothing are not in it.
    package var platformCatalog: PlatformCatalog {
        PlatformCatalog(assembly.withLock { $0.blueprints.compactMapValues(\.functions.description) })
    }

    /// The loaded plugins' own checks of rule blocks, by platform. Each takes a block as JSON, with literals only, and
    /// returns what is wrong with it; that may begin with a JSON pointer and `: `. Nil: nothing is wrong.
    package var blockChecks: [String: @Sendable (String) -> String?] {
        assembly.withLock { $0.blueprints.filter { $0.value.functions.check != nil } }
            .mapValues { blueprint in { blueprint.functions.mistake(in: $0) } }
    }

    /// The platforms whose transports seal notifications themselves, to keys of the registration; for all others the
    /// host does.
    package var encryptingPlatforms: Set<String> {
        assembly.withLock { Set($0.blueprints.filter { $0.value.functions.encrypts }.keys) }
    }

    /// The platforms whose transports show a person whatever they are given. Nothing silent goes there.
    package var showingPlatforms: Set<String> {
        assembly.withLock { Set($0.blueprints.filter { $0.value.functions.shows }.keys) }
    }

    /// A new instance of the transport for `platform`, configured with `configuration`, a JSON object as text. Throws
    /// when no plugin serves the platform or the plugin refuses the configuration.
    ///
    /// Instances of one platform and app may exist side by side: on a reload make the new one, switch, and
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

    /// A new instance of the filter called `name`, with its settings as a JSON object in text. Throws when no plugin
    /// offers it or the plugin refuses the settings. On a reload make the new one, switch, and ``retire(_:within:)``
    /// the old one.
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

    /// Keeps the deadlines of all instances, four times a second, until the task is cancelled.
    package func run() async {
        while (try? await Task.sleep(for: .milliseconds(250))) != nil { expireDeadlines() }
    }

    /// Drains and destroys `instance`, waiting `span` at most. False when it had to be left alone.
    package func retire(_ instance: any DrainableInstance, within span: Duration) async -> Bool {
        await whileKeepingDeadlines {
            let isDestroyed = await instance.drain(within: span)
            self.instances.withLock { $0.removeAll { $0 === instance } }
            self.processes?.rest()
            return isDestroyed
        }
    }

    /// Drains and destroys all instances at once, waiting `span` at most.
    package func shutDown(within span: Duration) async {
        await withTaskGroup { group in
            for instance in instances.withLock(\.self) {
                group.addTask { _ = await self.retire(instance, within: span) }
            }
        }
    }

    /// Shutdown may come after ``run()`` was cancelled, and draining needs its deadline kept.
    private func whileKeepingDeadlines<Result: Sendable>(
        _ body: @escaping @Sendable () async -> Result
    ) async -> Result {
        let keeper = Task { await run() }
        defer { keeper.cancel() }
        return await body()
    }
}

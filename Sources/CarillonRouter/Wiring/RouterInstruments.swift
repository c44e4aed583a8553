import AccountWatch
import Delivery
import Operations
import PluginHost
import Registry
import RouterConfiguration
import Synchronization
import Units
import YAMLReading

/// What tells how a running router is doing: health, status and metrics, read from the same parts.
struct RouterInstruments {
    let health: RouterHealth
    /// Whether the router serves: not while it starts or stops. Health asks it.
    let serving = SharedFlag()
    let status: StatusReader
    let metrics: RouterMetrics

    init(
        _ plane: DataPlane,
        _ configuration: Configuration,
        _ files: OperatorFiles,
        refusedReload: @escaping @Sendable () -> (mistakes: [Diagnostic], at: Timestamp)?,
        now: @escaping @Sendable () -> Timestamp
    ) {
        let (outgoing, watchers, relays, cluster) = (plane.outgoing, plane.watchers, plane.relays, plane.cluster)
        let keyCensus = KeyCensus(registry: plane.registry, now: now)
        health = RouterHealth(
            isServing: { [serving] in serving.isSet && cluster?.isServing ?? true },
            pipeline: plane.events.pipeline,
            courier: plane.courier,
            outbox: plane.stores.outbox,
            storePath: configuration.storePath,
            counts: watchers.counts,
            transports: outgoing.transports,
            pluginProcesses: { [plugins = outgoing.plugins] in plugins.processReports },
            pool: relays.pool,
            wantedRelays: { [isHere = relays.isHere] in Set(configuration.relays.always.filter(isHere)) },
            group: outgoing.group,
            facts: { [sockets = plane.sockets, settings = plane.settings, weak cluster] in
                var facts = HealthFacts()
                // In a cluster other members may hold them.
                facts.hasSource = sockets.hasSource || !configuration.relays.always.isEmpty
                facts.filterFailures = settings.filters.failures
                facts.refusedReload = refusedReload()
                facts.foreignMessages = cluster?.foreignMessages(at: now())
                return facts
            }
        )
        status = StatusReader(
            configuration: configuration,
            health: health,
            counts: watchers.counts,
            courier: plane.courier,
            outbox: plane.stores.outbox,
            transports: outgoing.transports,
            plugins: outgoing.plugins,
            pool: relays.pool,
            registry: plane.registry,
            keyCensus: keyCensus,
            files: files,
            partitions: { [weak cluster] in (cluster?.waiting ?? 0, cluster?.failed ?? 0) },
            mark: relays.watch.mark,
            now: now
        )
        metrics = RouterMetrics(
            counts: watchers.counts,
            listeners: plane.sockets.counts,
            filterNames: { [settings = plane.settings] in settings.configuration.filters.map(\.name) },
            pipeline: plane.events.pipeline,
            intake: plane.events.intake,
            courier: plane.courier,
            outbox: plane.stores.outbox,
            keyCensus: keyCensus,
            transports: outgoing.transports,
            pluginProcesses: { [plugins = outgoing.plugins] in plugins.processReports },
            pool: relays.pool,
            lanes: outgoing.lanes,
            trace: plane.stores.trace,
            tracer: watchers.spans.tracer,
            cluster: { cluster?.status },
            failedInPartitions: { cluster?.failed ?? 0 }
        )
    }
}

/// A flag that several parts share.
final class SharedFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set(_ value: Bool) { flag.store(value, ordering: .relaxed) }
}

import Delivery
import Operations
import PluginHost
import Registry
import RouterConfiguration
import Sealing
import Units

/// What operators, users and senders do and look up at a running router.
struct RunningOperations {
    let devices: DeviceOperations
    let users: UserOperations
    let notifier: Notifier
    /// The events that rules can be tried on.
    let kept: KeptEventPages
    /// All of it but notifications, at every member of a cluster.
    let view: ClusterView

    init(
        _ plane: DataPlane,
        _ configuration: Configuration,
        _ files: OperatorFiles,
        _ status: StatusReader,
        now: @escaping @Sendable () -> Timestamp
    ) throws {
        let cluster = plane.cluster
        let reader = try Self.deviceReader(plane, files, now)
        devices = Self.devices(plane, reader, now)
        let events = try Self.events(plane, configuration, files, reader, now)
        users = UserOperations(
            registry: plane.registry,
            devices: devices,
            files: files,
            configuration: configuration,
            now: now
        )
        notifier = Self.notifier(plane, now)
        kept = KeptEventPages(
            plane.stores.keptEvents,
            path: configuration.keptEventsPath,
            peers: cluster?.peers,
            now: now
        )
        view = ClusterView(
            queue: Self.queue(plane, configuration, files, now),
            devices: devices,
            events: events,
            users: users,
            own: try Self.own(plane, devices, events, files, status),
            readers: RouterReaders(
                status: status,
                statistics: plane.watchers.statistics,
                doors: DoorReader(
                    configuration,
                    listeners: plane.sockets.counts,
                    counts: plane.watchers.counts,
                    pool: plane.relays.pool
                ),
                plugins: { [plugins = plane.outgoing.plugins] in
                    PluginOverview(plugins.processReports, refusals: plugins.catalog.refusals)
                },
                kept: kept
            ),
            trace: plane.stores.trace,
            peers: cluster?.peers,
            control: cluster?.peers,
            cluster: { [weak cluster] in cluster?.status }
        )
    }

    private static func deviceReader(
        _ plane: DataPlane,
        _ files: OperatorFiles,
        _ now: @escaping @Sendable () -> Timestamp
    ) throws -> DeviceReader {
        DeviceReader(
            registry: plane.registry,
            files: files,
            configuration: { [settings = plane.settings, plugins = plane.outgoing.plugins] in
                settings.configuration.limited(by: plugins.platformCatalog)
            },
            deliveryID: try DeliveryIDs(plane.registry.keys.seeds).id,
            now: now
        )
    }

    private static func devices(
        _ plane: DataPlane,
        _ reader: DeviceReader,
        _ now: @escaping @Sendable () -> Timestamp
    ) -> DeviceOperations {
        DeviceOperations(
            registry: plane.registry,
            reader: reader,
            sealer: Sealer(),
            sender: RunningTestPushes(
                settings: plane.settings,
                encryptingPlatforms: { [plugins = plane.outgoing.plugins] in plugins.encryptingPlatforms },
                transport: { [transports = plane.outgoing.transports] in transports[$0] },
                now: now
            ),
            now: now
        )
    }

    private static func events(
        _ plane: DataPlane,
        _ configuration: Configuration,
        _ files: OperatorFiles,
        _ reader: DeviceReader,
        _ now: @escaping @Sendable () -> Timestamp
    ) throws -> EventOperations {
        let seeds = plane.registry.keys.seeds
        return EventOperations(
            registry: plane.registry,
            reader: reader,
            files: files,
            deliveryID: try DeliveryIDs(seeds).id,
            traceIDs: try configuration.traceIDs(seeds),
            now: now
        )
    }

    private static func queue(
        _ plane: DataPlane,
        _ configuration: Configuration,
        _ files: OperatorFiles,
        _ now: @escaping @Sendable () -> Timestamp
    ) -> QueueOperations {
        let (courier, outbox, cluster) = (plane.courier, plane.stores.outbox, plane.cluster)
        return QueueOperations(
            registry: plane.registry,
            files: files,
            handle: .running { [reader = files.outbox.own, weak cluster] in
                let place = cluster.map { StorePlace.outbox(of: $0.name) } ?? .alone
                return (cluster?.stores ?? []) + [WorkingStore(place, courier, outbox, reader)]
            },
            deadLetters: configuration.deadLetters,
            now: now
        )
    }

    private static func own(
        _ plane: DataPlane,
        _ devices: DeviceOperations,
        _ events: EventOperations,
        _ files: OperatorFiles,
        _ status: StatusReader
    ) throws -> OwnOperations {
        let (settings, courier, cluster) = (plane.settings, plane.courier, plane.cluster)
        return OwnOperations(
            devices: devices,
            events: events,
            registry: plane.registry,
            trace: plane.stores.trace,
            files: files,
            status: status,
            handles: try DeviceHandles(plane.registry.keys.seeds),
            configuration: { settings.configuration },
            pausedUntil: { [weak cluster] device, address in
                ([courier] + (cluster?.couriers ?? [])).compactMap { $0.pausedUntil(device, at: address) }.max()
            }
        )
    }

    private static func notifier(_ plane: DataPlane, _ now: @escaping @Sendable () -> Timestamp) -> Notifier {
        Notifier(
            outbox: plane.stores.outbox,
            registry: plane.registry,
            intake: plane.events.intake,
            identity: plane.stores.identity,
            shared: plane.cluster?.sharedRequests,
            // Filters get whole events. Those that are kept for trying rules are others: no rule decides about these.
            mustSign: { [settings = plane.settings] in !settings.configuration.filters.isEmpty },
            now: now
        )
    }
}

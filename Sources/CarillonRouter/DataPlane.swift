import AccountWatch
import Delivery
import HTTPLanes
import Logging
import Operations
import Pipeline
import Registry
import RelayServer
import RouterConfiguration
import Rules
import Units
import WebIngress

/// The half of the router that makes pushes of events: everything on their way, connected. Nothing here knows the other
/// half, the ``ControlPlane``, through which operators ask about this one.
struct DataPlane: Sendable {
    let settings: ActiveSettings
    let outgoing: Outgoing
    let stores: Stores
    let watchers: Watchers
    let deliveries: Deliveries
    /// Nil: this router serves alone.
    let cluster: ClusterPart?
    let relays: Relays
    let sockets: Sockets
    let events: Events
    let accessDeadline: AccessDeadline

    var registry: Registry { stores.registry }
    var courier: Courier { deliveries.courier }

    /// Opens everything in the store behind `claim`; attempts nothing yet. Throws as ``Router`` does.
    init(
        _ configuration: Configuration,
        _ claim: StoreClaim,
        platforms known: KnownPlatforms?,
        membership: ClusterMembership?,
        stop: StopSignal,
        log: RouterLog,
        now: @escaping @Sendable () -> Timestamp
    ) throws {
        let logger = log.logger
        let counts = RouterCounts(now: now)
        let intake = Intake(answered: counts.answered)
        let screen = EventScreen(logger: logger, passed: counts.passedOver)
        // The registry calls these. Those whom they tell are made after it.
        let changes = AccountChanges()
        let accessChanges = AccessChanges()
        let codes = TargetCodes(name: configuration.relay.name, now: now, logger: logger)
        let networks = NetworkAccess()

        // Plugins find what they kept as soon as they are made.
        let store = try Self.openRegistry(configuration, membership, log)
        let pluginStates = PluginStateKeeper(
            try PluginStateTable(store: store, identity: claim.identity),
            now: now,
            logger: logger
        )
        outgoing = try Outgoing(configuration, states: pluginStates, logger: logger)
        let platforms = known ?? KnownPlatforms(outgoing.plugins)
        let rules = try configuration.loadRules(platforms)
        let ingressPlatform = try configuration.servedIngress(platforms, logger)
        logger.warn(of: ExposedFiles(configuration))
        settings = ActiveSettings(
            startingWith: configuration,
            rules,
            plugins: outgoing.plugins,
            instances: outgoing.settings,
            logger: logger
        )
        stores = try Stores(
            claim,
            configuration,
            store: store,
            pluginStates: pluginStates,
            platforms: platforms.catalog,
            checks: RegistrationChecks(transports: outgoing.transports, lanes: outgoing.lanes, settings: settings),
            accessChanged: accessChanges.changed,
            changes: changes,
            codes: codes,
            log: log,
            now: now
        )
        let registry = stores.registry
        if let membership {
            try registry.join(StreamedRegistryLog(membership.link, membership.line), name: "\(DeliveryIDs.fresh())")
        }
        watchers = try Watchers(
            configuration,
            settings: settings,
            stores: stores,
            outgoing: outgoing,
            log: log,
            counts: counts,
            now: now,
            logger: logger
        )
        let observers = watchers.all.adding(PaceFeedback(intake: intake, now: now))
        deliveries = try Deliveries(
            stores.outbox,
            registry: registry,
            transports: outgoing.transports,
            observer: observers,
            now: now,
            logger: logger
        )
        let courier = deliveries.courier
        codes.send(by: courier)
        let relays = try Relays(
            configuration,
            settings: settings,
            registry: registry,
            changes: changes,
            intake: intake,
            counts: counts,
            screen: screen,
            membership: membership,
            outgoing: outgoing,
            stop: stop,
            now: now,
            logger: logger
        )
        self.relays = relays
        let dependencies = Events.dependencies(configuration, registry, relays, logger: logger)
        let cluster = try membership.map { [stores, settings, outgoing, watchers] membership in
            ClusterPart(
                membership,
                try PartitionParts(
                    membership,
                    stores: stores,
                    settings: settings,
                    outgoing: outgoing,
                    dependencies: dependencies,
                    observers: watchers.all,
                    now: now,
                    logger: logger
                ),
                gate: outgoing.gate,
                isCutOff: stop.fail
            )
        }
        if let cluster { courier.count(with: { [weak cluster] in cluster?.couriers ?? [] }) }
        self.cluster = cluster
        let farewells = try stores.farewells
        sockets = try Sockets(
            configuration,
            key: registry.keys.names.current.key,
            backend: SocketBackend(
                intake: intake,
                registry: registry,
                logger: logger,
                isListed: networks.isAllowed,
                advertisements: { [advertising = relays.advertising] in advertising.compactMap(\.event) + farewells }
            ),
            ingress: ingressPlatform.flatMap { [trials = watchers.trials] platform in
                SealedIngressBackend(
                    configuration,
                    platform,
                    registry: registry,
                    courier: courier,
                    trials: trials,
                    now: now,
                    logger: logger
                )
                .map { ($0, platform) }
            },
            intake: intake,
            screen: screen,
            stop: stop,
            group: outgoing.group,
            isBlocked: networks.isBlocked,
            now: now,
            logger: logger
        )
        let accessDeadline = AccessDeadline(end: registry.endAccessRules, now: now, logger: logger)
        accessChanges.tell { [server = sockets.server] access in
            relays.follow(access)
            accessDeadline.follow(access.nextEnd)
            if networks.follow(access) { server.endBlockedConnections() }
        }
        self.accessDeadline = accessDeadline
        events = try Events(
            intake: intake,
            settings: settings.pipeline(platforms.catalog, plugins: outgoing.plugins),
            configuration: configuration,
            stores: stores,
            courier: courier,
            relays: relays,
            sockets: sockets,
            cluster: cluster,
            dependencies: dependencies,
            screen: screen,
            counts: counts,
            observer: observers,
            now: now,
            logger: logger
        )
    }

    /// The registry's database. In a cluster it begins with what the cluster has.
    private static func openRegistry(
        _ configuration: Configuration,
        _ membership: ClusterMembership?,
        _ log: RouterLog
    ) throws -> RegistryStore {
        let store = try RegistryStore(path: configuration.storePath, damaged: log.damaged)
        if let membership {
            try store.takeSnapshot(of: StreamedRegistryLog(membership.link, membership.line))
        } else if try store.isPartOfCluster() {
            throw RouterError.partOfCluster
        }
        return store
    }
}

import AccountWatch
import Cipher
import Delivery
import HTTPLanes
import Logging
import Logs
import Nostr
import Operations
import Pipeline
import PluginHost
import Registry
import RelayPool
import RelayServer
import RouterConfiguration
import Rules
import ServiceLifecycle
import Units
import WebIngress
import YAMLReading

/// The parts put together, from one configuration.
///
///     let router = try Router(configuration: configuration, logger: logger)
///     try await router.run()   // until graceful shutdown
package final class Router: Service {
    private let stores: Stores
    private let lastWords: LastWords
    private let outgoing: Outgoing
    private let deliveries: Deliveries
    /// Nil: this router serves alone.
    private let cluster: ClusterPart?
    private let events: Events
    private let relays: Relays
    private let sockets: Sockets
    private let operators: Operators
    private let spans: Spans
    private let reloader: Reloader
    private let settings: ActiveSettings
    private let stop: StopSignal
    /// Everything else that runs; it receives a callback for the relay socket's port.
    private let upkeep: @Sendable (_ started: @escaping @Sendable (Int) -> Void) -> Upkeep
    private let now: @Sendable () -> Timestamp
    private let logger: Logger

    /// Opens everything; attempts nothing yet.
    ///
    /// `reread` reads the configuration anew for a reload; `serviceManager` receives the progress; `platforms` stand
    /// for what the loaded plugins say; `runningLog` is what `logger` writes to. `link`: to the cluster that the router
    /// is to be a member of; it blocks until this member has the cluster's registry.
    ///
    /// Throws `Diagnostics` for what an operator can mend in a file, a `StoreLockError` when another router has the
    /// store, a `FeedError` when there is nothing to feed from, and the stores' errors.
    package init(
        configuration: Configuration,
        reread: (@Sendable () throws(Diagnostics) -> Configuration)? = nil,
        serviceManager: ServiceManager? = nil,
        platforms: KnownPlatforms? = nil,
        logger: Logger,
        runningLog: RunningLog = RunningLog(),
        link: ClusterLink? = nil,
        now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) throws {
        self.logger = logger
        self.now = now
        let log = RouterLog(logger: logger, now: now)
        let counts = RouterCounts(now: now)
        let intake = Intake(answered: counts.answered)
        let screen = EventScreen(logger: logger, passed: counts.passedOver)
        let changes = AccountChanges()
        let networks = NetworkAccess()
        let accessChanges = AccessChanges()
        let codes = TargetCodes(name: configuration.relay.name, now: now, logger: logger)
        let stop = StopSignal()
        let serving = ServingFlag()

        // Two routers that both ignored the block would send everything twice.
        guard configuration.cluster == nil || link != nil else { throw RouterError.apartFromItsCluster }
        let claim = try StoreClaim(configuration, logger: logger)
        let apiToken = ActiveAPIToken(
            try configuration.api.map { try APITokenFile(path: $0.tokenFile).readOrCreate(random: SecureRandom.bytes) }
        )
        // Plugins find what they kept as soon as they are made.
        let store = try RegistryStore(path: configuration.storePath, damaged: log.damaged)
        if let link {
            try store.takeSnapshot(of: StreamedRegistryLog(link))
        } else if try store.isPartOfCluster() {
            throw RouterError.partOfCluster
        }
        let pluginStates = PluginStateKeeper(
            try PluginStateTable(store: store, identity: claim.identity),
            now: now,
            logger: logger
        )
        let outgoing = try Outgoing(configuration, states: pluginStates, logger: logger)
        let transports = outgoing.transports
        let platforms = platforms ?? KnownPlatforms(outgoing.plugins)
        let rules = try configuration.loadRules(platforms)
        let ingressPlatform = try configuration.servedIngress(platforms, logger)
        logger.warn(of: ExposedFiles(configuration))
        let filters = Filters(configuration: configuration, plugins: outgoing.plugins, settings: outgoing.settings)
        for failure in filters.failures {
            logger.error(
                "A filter cannot start",
                metadata: ["filter": "\(failure.name)", "reason": "\(failure.reason)"]
            )
        }
        logger.warn(of: FilterWarnings(configuration, rules, filters.all).found)
        let settings = ActiveSettings(configuration, rules, filters)

        let stores = try Stores(
            claim,
            configuration,
            store: store,
            pluginStates: pluginStates,
            platforms: platforms.catalog,
            checks: RegistrationChecks(transports: transports, lanes: outgoing.lanes, settings: settings),
            access: configuration.access,
            accessChanged: accessChanges.changed,
            changes: changes,
            codes: codes,
            log: log,
            now: now
        )
        if let link {
            try stores.registry.join(StreamedRegistryLog(link), name: DeliveryIDs.fresh())
        }
        let watchers = try Watchers(
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
        let partitions = link.map { _ in PartitionIntakes() }
        let sharedRelays = link.map { ClusterRelays($0, partitions: partitions ?? PartitionIntakes()) }
        let deliveries = try Deliveries(
            stores.outbox,
            registry: stores.registry,
            transports: transports,
            observer: observers,
            now: now,
            logger: logger
        )
        let courier = deliveries.courier
        codes.send(by: courier)
        let relays = try Relays(
            configuration,
            settings: settings,
            registry: stores.registry,
            changes: changes,
            intake: intake,
            counts: counts,
            screen: screen,
            partitions: partitions,
            shared: sharedRelays,
            outgoing: outgoing,
            stop: stop,
            now: now,
            logger: logger
        )
        let dependencies = Events.dependencies(configuration, stores.registry, relays, logger: logger)
        let deliveryID = try DeliveryIDs(stores.registry.keys.seeds).id
        let cluster = link.flatMap { link -> ClusterPart? in
            guard let sharedRelays else { return nil }
            return ClusterPart(
                link,
                PartitionParts(
                    registry: stores.registry,
                    settings: { [plugins = outgoing.plugins] in
                        var pipeline = settings.configuration.pipelineSettings(
                            settings.rules,
                            settings.filters,
                            plugins.platformCatalog,
                            plugins: plugins
                        )
                        // The file is the one of the pipeline that hands over.
                        pipeline.contextPath = nil
                        return pipeline
                    },
                    dependencies: dependencies,
                    ruledEvents: stores.keptEvents,
                    transports: transports,
                    observers: watchers.all,
                    order: { [plugins = outgoing.plugins] request in
                        Notifier.order(of: request, settings.rules, KnownPlatforms(plugins))
                    },
                    deliveryID: deliveryID,
                    limit: configuration.mostWaiting,
                    deadLetters: link.deadLetters,
                    now: now,
                    logger: logger
                ),
                intakes: partitions ?? PartitionIntakes(),
                relays: sharedRelays,
                gate: outgoing.gate,
                isCutOff: stop.fail
            )
        }
        if let cluster { courier.count(with: { [weak cluster] in cluster?.couriers ?? [] }) }
        let listeners = ListenerCounts(configuration)
        let farewells = try stores.farewells
        let sockets = try Sockets(
            configuration,
            key: stores.registry.keys.names.current.key,
            backend: SocketBackend(
                intake: intake,
                registry: stores.registry,
                logger: logger,
                isListed: networks.isAllowed,
                advertisements: { [advertising = relays.advertising] in advertising.compactMap(\.event) + farewells }
            ),
            ingress: ingressPlatform.flatMap { platform in
                guard let settings = configuration.sealedIngress else { return nil }
                let backend = SealedIngressBackend(
                    queue: QueueName(platform: platform.name, app: settings.app),
                    limits: IngressDeviceLimits(devices: settings.devices),
                    registry: stores.registry,
                    courier: courier,
                    trials: watchers.trials,
                    now: now,
                    logger: logger
                )
                return (backend, platform)
            },
            intake: intake,
            screen: screen,
            stop: stop,
            group: outgoing.group,
            counts: listeners,
            isBlocked: networks.isBlocked,
            now: now,
            logger: logger
        )
        let accessDeadline = AccessDeadline(end: stores.registry.endAccessRules, now: now, logger: logger)
        accessChanges.tell { [relays, server = sockets.server] access in
            relays.follow(access)
            accessDeadline.follow(access.nextEnd)
            if networks.follow(access) { server.endBlockedConnections() }
        }
        let ownQuestions = OwnQuestions()
        let events = try Events(
            intake: intake,
            settings: configuration.pipelineSettings(rules, filters, platforms.catalog, plugins: outgoing.plugins),
            configuration: configuration,
            stores: stores,
            courier: courier,
            relays: relays,
            sockets: sockets,
            cluster: cluster,
            dependencies: dependencies,
            screen: screen,
            own: ownQuestions,
            counts: counts,
            observer: observers,
            now: now,
            logger: logger
        )
        let announcer = Announcer(
            settings: settings,
            transports: transports,
            sockets: sockets,
            relays: relays,
            registry: stores.registry,
            logger: logger
        )
        let reloader = Reloader(
            configuration,
            reread: reread,
            settings: settings,
            apiToken: apiToken,
            outgoing: outgoing,
            registry: stores.registry,
            intake: intake,
            partitions: partitions,
            courier: courier,
            pool: relays.pool,
            announcer: announcer,
            serviceManager: serviceManager,
            logger: logger,
            runningLog: runningLog
        )
        let services = try OperatorServices(
            RunningParts(
                configuration: configuration,
                settings: settings,
                identity: claim.identity,
                stores: stores,
                outgoing: outgoing,
                watchers: watchers,
                courier: courier,
                cluster: cluster,
                link: link,
                events: events,
                relays: relays,
                listeners: listeners,
                serving: serving,
                runningLog: runningLog,
                now: now
            ),
            apiToken: apiToken,
            own: ownQuestions,
            reload: reloader.reload,
            logger: logger
        )
        upkeep = { started in
            Upkeep(
                settings: settings,
                transports: transports,
                accessDeadline: accessDeadline,
                trace: stores.trace,
                stores: stores,
                cluster: cluster,
                statistics: watchers.statisticsKeeper,
                operationalEvents: watchers.operationalEvents,
                announcer: announcer,
                health: services.health,
                serving: serving,
                serviceManager: serviceManager,
                started: started,
                logger: logger
            )
        }
        lastWords = LastWords(
            statistics: watchers.statisticsKeeper,
            operationalEvents: watchers.operationalEvents
        )
        operators = services.operators
        self.stores = stores
        self.outgoing = outgoing
        spans = watchers.spans
        self.deliveries = deliveries
        self.cluster = cluster
        self.events = events
        self.relays = relays
        self.sockets = sockets
        self.reloader = reloader
        self.settings = settings
        self.stop = stop
    }

    /// Serves until graceful shutdown, then lets what is under way end and leaves the rest in the outbox.
    package func run() async throws {
        try await run(started: { _ in })
    }

    /// The same; `started` learns the port of the relay socket once everything works.
    package func run(started: @escaping @Sendable (Int) -> Void) async throws {
        // In the order of the start. Stopping goes the other way: what came in at the sockets goes all the way before
        // the next part stops.
        var parts: [any RouterPart] = [stores, lastWords, outgoing, spans, operators, deliveries]
        if let cluster { parts.append(cluster) }
        parts += [events, relays, sockets, upkeep(started)] as [any RouterPart]
        try await RouterLifecycle(parts, stop: stop) { [settings, now] in
            StopBudget(settings.configuration.shutdownTime, now: now)
        }
        .run()
        logger.info("Stopped", metadata: ["waiting": "\(courier.waiting)"])
    }

    /// Reads the configuration anew and puts it in force.
    package func reload() async -> ReloadResult { await reloader.reload() }

    /// The same at a signal, whose sender does not try again.
    package func reloadAtSignal() async { await reloader.reloadAtSignal() }

    /// How long stopping may take in all.
    package var shutdownTime: Duration { settings.configuration.shutdownTime }

    /// Where the sealed ingress listens; nil before it does, and where there is none.
    package var sealedIngressPort: Int? { sockets.ingressPort }

    /// Where the API listens; nil before it does, and where there is none.
    package var consolePort: Int? { operators.port }

    /// For tests.
    var registry: Registry { stores.registry }
    var courier: Courier { deliveries.courier }
    var intake: Intake { events.intake }
    var lanes: HTTPLanes { outgoing.lanes }
}

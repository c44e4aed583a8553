import AccountWatch
import Cipher
import Console
import Delivery
import EventTrace
import Foundation
import HTTPLanes
import Listening
import Logging
import Logs
import NIOCore
import NIOPosix
import Nostr
import Operations
import Pipeline
import PluginHost
import Registry
import RelayPool
import RelayServer
import RouterConfiguration
import Rules
import Sealing
import ServiceLifecycle
import Telemetry
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
        let ingressPlatform = try Self.ingressPlatform(configuration, platforms, logger)
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
        let dailyCounts = DailyCounts(
            language: { [registry = stores.registry] in (try? registry.language(of: $0)) ?? "" },
            now: now
        )
        let statistics = StatisticsOperations(
            registry: stores.registry,
            outbox: OutboxReader(path: configuration.outboxPath),
            defaultMode: { settings.configuration.defaultMode },
            pending: { dailyCounts.pending },
            now: now
        )
        let trials = TokenTrials(now: now)
        let spans = try Spans(
            configuration,
            seeds: stores.registry.keys.seeds,
            sender: outgoing.lanes,
            now: now,
            logger: logger
        )
        let stream = LiveStream(
            readers: configuration.api?.streamReaders ?? Configuration.API.defaultStreamReaders,
            device: { [registry = stores.registry] in try? registry.listing(of: $0) },
            now: now
        )
        let operationalEvents = try configuration.inItsWords {
            try OperationalEvents(
                configuration.operationalEvents,
                path: configuration.webhooksPath,
                stream: stream,
                sender: outgoing.lanes,
                now: now,
                logger: logger
            )
        }
        let everybody = RouterObservers(
            pipeline: [log, counts, dailyCounts, stream]
                + (stores.trace.map { [$0] } ?? []) + (spans.tracer.map { [$0] } ?? []),
            deliveries: [log, counts, dailyCounts, trials, stream, operationalEvents]
                + (stores.trace.map { [$0] } ?? []) + (spans.tracer.map { [$0] } ?? [])
        )
        let observers = everybody.adding(PaceFeedback(intake: intake, now: now))
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
            partitions: partitions,
            shared: sharedRelays,
            outgoing: outgoing,
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
                    transports: transports,
                    observers: everybody,
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
                isCutOff: stop.fail
            )
        }
        if let cluster { courier.count(with: { [weak cluster] in cluster?.couriers ?? [] }) }
        let files = OperatorFiles(
            configuration: configuration,
            partitions: { [weak cluster] in cluster?.stores.map(\.reader) ?? [] },
            isCause: { [weak cluster] in cluster?.isCause($0) ?? false }
        )
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
                    trials: trials,
                    now: now,
                    logger: logger
                )
                return (backend, platform)
            },
            intake: intake,
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
        let health = RouterHealth(
            isServing: { serving.isSet && cluster?.isServing ?? true },
            pipeline: events.pipeline,
            courier: courier,
            outbox: stores.outbox,
            counts: counts,
            transports: transports,
            pluginProcesses: { [plugins = outgoing.plugins] in plugins.processReports },
            pool: relays.pool,
            wantedRelays: { [isHere = relays.isHere] in Set(configuration.relays.always.filter(isHere)) },
            group: outgoing.group
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
        let deviceOperations = DeviceOperations(
            registry: stores.registry,
            sealer: Sealer(),
            files: files,
            sender: RunningTestPushes(
                settings: settings,
                encryptingPlatforms: { [plugins = outgoing.plugins] in plugins.encryptingPlatforms },
                transport: { transports[$0] },
                now: now
            ),
            configuration: { [plugins = outgoing.plugins] in
                settings.configuration.limited(by: plugins.platformCatalog)
            },
            deliveryID: try DeliveryIDs(stores.registry.keys.seeds).id,
            traceIDs: try configuration.traceIDs(stores.registry.keys.seeds),
            now: now
        )
        let keyCensus = KeyCensus(registry: stores.registry, now: now)
        let statusReader = StatusReader(
            configuration: configuration,
            health: health,
            counts: counts,
            courier: courier,
            outbox: stores.outbox,
            transports: transports,
            plugins: outgoing.plugins,
            pool: relays.pool,
            registry: stores.registry,
            keyCensus: keyCensus,
            files: files,
            partitions: { [weak cluster] in (cluster?.waiting ?? 0, cluster?.failed ?? 0) },
            mark: relays.watch.mark,
            now: now
        )
        let view = ClusterView(
            queue: QueueOperations(
                registry: stores.registry,
                files: files,
                handle: .running { [outbox = stores.outbox, reader = files.outbox.own, weak cluster] in
                    let place = cluster.map { StorePlace.outbox(of: $0.name) } ?? .alone
                    return (cluster?.stores ?? []) + [WorkingStore(place, courier, outbox, reader)]
                },
                deadLetters: configuration.deadLetters,
                now: now
            ),
            devices: deviceOperations,
            status: statusReader,
            statistics: statistics,
            trace: stores.trace,
            peers: cluster?.peers,
            control: cluster?.peers,
            cluster: { [weak cluster] in cluster?.status }
        )
        cluster?.peers.answer(with: view.answer)
        let notifier = Notifier(
            outbox: stores.outbox,
            registry: stores.registry,
            intake: intake,
            identity: claim.identity,
            shared: link.map(SharedRequestBucket.init),
            now: now
        )
        operationalEvents.begin(
            OperationalEvents.Sources(
                transports: transports,
                plugins: outgoing.plugins,
                pool: relays.pool,
                registry: stores.registry,
                files: files,
                status: statusReader
            ),
            notifier: notifier
        ) { settings.rules }
        let apiPort = ListeningAPI(configuration.api)
        let operatorTokens = OperatorTokens(
            token: { apiToken.value },
            named: CurrentTokens(TokenFile(configuration), now: now, logger: logger)
        )
        let sessions = BrowserSessions(
            principal: operatorTokens.principal(ofDigest:),
            url: configuration.api?.console.inbound?.publicURL,
            now: now
        )
        let owners = OwnerAuthenticator(
            urls: { [keys = stores.registry.keys] in
                apiPort.urls + keys.answering.map { OwnSession.url(of: $0.publicKey) }
            },
            now: now
        )
        let console = RouterAPI(
            configuration: configuration,
            devices: deviceOperations,
            own: OwnOperations(
                devices: deviceOperations,
                registry: stores.registry,
                trace: stores.trace,
                files: files,
                status: statusReader,
                handles: try DeviceHandles(stores.registry.keys.seeds),
                configuration: { settings.configuration },
                pausedUntil: { courier.pausedUntil($0, at: $1) }
            ),
            sessions: sessions,
            listeners: listeners,
            users: UserOperations(
                registry: stores.registry,
                devices: deviceOperations,
                files: files,
                configuration: configuration,
                now: now
            ),
            logs: LogOperations(levels: runningLog.levels),
            health: health,
            metrics: RouterMetrics(
                counts: counts,
                listeners: listeners,
                filterNames: { settings.configuration.filters.map(\.name) },
                pipeline: events.pipeline,
                intake: intake,
                courier: courier,
                outbox: stores.outbox,
                keyCensus: keyCensus,
                transports: transports,
                pluginProcesses: { [plugins = outgoing.plugins] in plugins.processReports },
                pool: relays.pool,
                lanes: outgoing.lanes,
                trace: stores.trace,
                tracer: spans.tracer,
                cluster: { cluster?.status },
                failedInPartitions: { cluster?.failed ?? 0 }
            ),
            plugins: outgoing.plugins,
            doors: DoorReader(configuration, listeners: listeners, counts: counts, pool: relays.pool),
            transports: transports,
            view: view,
            clusterOperations: cluster.map { cluster in
                ClusterOperations(
                    status: { [weak cluster] in cluster?.status },
                    peers: cluster.peers,
                    control: cluster.peers
                )
            },
            stream: stream,
            notifier: notifier,
            rules: { (settings.configuration, settings.rules) },
            differences: RulesDifferences(
                kept: stores.keptEvents,
                registry: stores.registry,
                showingPlatforms: { [plugins = outgoing.plugins] in plugins.showingPlatforms },
                now: now
            ),
            reload: reloader.reload,
            now: now
        )
        ownQuestions.begin(OwnSession(console.operations, owners: owners, now: now))
        operators = Operators(
            configuration.api,
            socket: configuration.adminSocketPath,
            authenticator: RouterAuthenticator(
                tokens: operatorTokens,
                sessions: sessions,
                signOn: configuration.api.flatMap { api in
                    api.signOn.map {
                        ProxySignOn(
                            $0,
                            isTrustedProxy: api.trustedProxies.contains,
                            url: api.console.inbound?.publicURL
                        )
                    }
                },
                owners: owners
            ),
            port: apiPort,
            console: console,
            stream: stream,
            group: outgoing.group,
            counts: listeners,
            now: now,
            logger: logger
        )
        let statisticsKeeper = StatisticsKeeper(
            counts: dailyCounts,
            statistics: statistics,
            outbox: stores.outbox,
            now: now,
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
                statistics: statisticsKeeper,
                operationalEvents: operationalEvents,
                announcer: announcer,
                health: health,
                serving: serving,
                serviceManager: serviceManager,
                started: started,
                logger: logger
            )
        }
        lastWords = LastWords(statistics: statisticsKeeper, operationalEvents: operationalEvents)
        self.stores = stores
        self.outgoing = outgoing
        self.spans = spans
        self.deliveries = deliveries
        self.cluster = cluster
        self.events = events
        self.relays = relays
        self.sockets = sockets
        self.reloader = reloader
        self.settings = settings
        self.stop = stop
    }

    /// Nil where there is no sealed ingress. Where no plugin can serve it the router goes without, unless there is
    /// nothing else.
    private static func ingressPlatform(
        _ configuration: Configuration,
        _ platforms: KnownPlatforms,
        _ logger: Logger
    ) throws -> IngressPlatform? {
        do {
            let platform = try configuration.ingressPlatform(platforms.catalog)
            return platform.flatMap { IngressPlatform($0, in: platforms.catalog) }
        } catch {
            if configuration.isOfEnvironment { throw error }
            logger.error("The sealed ingress cannot start", metadata: ["reason": "\(error)"])
            return nil
        }
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

extension Logger {
    fileprivate func warn(of exposed: ExposedFiles) {
        for file in exposed.found {
            warning(
                "\(file.isFolder ? "The folder of files with secrets" : "A file with secrets") \(file.exposure)",
                metadata: ["file": "\(file.path)", "key": "\(file.key)", "remedy": "\(file.remedy)"]
            )
        }
    }
}

/// Why the router cannot begin.
package struct RouterError: Error, CustomStringConvertible {
    package let description: String
    private init(description: String) {
        self.description = description
    }

    /// `key` is where the configuration says it.
    static func cannotListen(_ key: String, host: String, port: Int, _ error: any Error) -> RouterError {
        RouterError(description: "\(key): cannot listen on \(host):\(port): \(error)")
    }

    static let apartFromItsCluster = RouterError(
        description: "cluster: the configuration has a cluster, and this router was not joined to it"
    )

    static let partOfCluster = RouterError(
        description:
            "store.path: the store is a cluster member's, and the configuration has no block 'cluster': a router that served it "
            + "alone would send what the others send. carillon cluster export makes it a store of its own"
    )

    /// Root would leave files behind that the service can no longer use, in places that the service can choose.
    static func foreignFolder(of path: String, _ owner: FolderOwner) -> RouterError {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return RouterError(
            description:
                "store.path: root does not serve in another user's folder: \(folder) belongs to user \(owner.user). Run it as that "
                + "one, with User= in systemd's unit or with \(owner.command("carillon serve …")); or give root the folder "
                + "and all in it, with chown -R 0:0 \(ShellWord.quoted(folder))"
        )
    }
}

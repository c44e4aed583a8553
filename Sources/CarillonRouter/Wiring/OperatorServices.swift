import AccountWatch
import Cipher
import Console
import Delivery
import Logging
import NIOCore
import Nostr
import Operations
import PluginHost
import Registry
import RouterConfiguration
import Sealing
import Units

/// The operators' half of the router: everything that answers questions about the other half or tells of it. Nothing on
/// the way of an event knows it.
struct OperatorServices {
    let health: RouterHealth
    /// The API, and the same for commands on this machine.
    let operators: Operators

    /// `own` passes on what NIP-46 sessions ask; `reload` reads the configuration anew. From now on other members of a
    /// cluster are answered, sessions are, and operational events go out.
    init(
        _ parts: RunningParts,
        apiToken: ActiveAPIToken,
        own: OwnQuestions,
        reload: @escaping @Sendable () async -> ReloadResult,
        logger: Logger
    ) throws {
        let (configuration, settings, now) = (parts.configuration, parts.settings, parts.now)
        let (stores, outgoing, watchers) = (parts.stores, parts.outgoing, parts.watchers)
        let registry = stores.registry
        let files = parts.files
        health = parts.health
        let devices = try parts.devices(files)
        let keyCensus = KeyCensus(registry: registry, now: now)
        let status = parts.status(health, keyCensus, files)
        let users = UserOperations(
            registry: registry,
            devices: devices,
            files: files,
            configuration: configuration,
            now: now
        )
        let view = try parts.view(devices, users, status, files)
        if let peers = parts.cluster?.peers {
            peers.answer(with: view.answer)
            watchers.stream.share(with: peers)
            peers.hear { [stream = watchers.stream] in stream.receive($0) }
        }
        let notifier = parts.notifier
        watchers.operationalEvents.begin(
            OperationalEvents.Sources(
                transports: outgoing.transports,
                plugins: outgoing.plugins,
                pool: parts.relays.pool,
                registry: registry,
                files: files,
                status: status
            ),
            notifier: notifier
        ) { settings.rules }

        let port = ListeningAPI(configuration.api)
        let tokens = OperatorTokens(
            token: { apiToken.value },
            named: CurrentTokens(TokenFile(configuration), now: now, logger: logger)
        )
        let sessions = BrowserSessions(
            principal: tokens.principal(ofDigest:),
            url: configuration.api?.console.inbound?.publicURL,
            now: now
        )
        let owners = OwnerAuthenticator(
            urls: { [keys = registry.keys] in
                port.urls + keys.answering.map { OwnSession.url(of: $0.publicKey) }
            },
            now: now
        )
        let api = RouterAPI(
            configuration: configuration,
            devices: devices,
            sessions: sessions,
            listeners: parts.listeners,
            users: users,
            logs: LogOperations(levels: parts.runningLog.levels),
            health: health,
            metrics: parts.metrics(keyCensus),
            plugins: outgoing.plugins,
            transports: outgoing.transports,
            view: view,
            clusterOperations: parts.cluster.map { cluster in
                ClusterOperations(
                    status: { [weak cluster] in cluster?.status },
                    peers: cluster.peers,
                    control: cluster.peers
                )
            },
            stream: watchers.stream,
            notifier: notifier,
            rules: { (settings.configuration, settings.rules) },
            differences: RulesDifferences(
                kept: parts.kept,
                registry: registry,
                showingPlatforms: { [plugins = outgoing.plugins] in plugins.showingPlatforms },
                now: now
            ),
            reload: reload,
            now: now
        )
        own.begin(OwnSession(api.operations, owners: owners, now: now))
        operators = Operators(
            configuration.api,
            socket: configuration.adminSocketPath,
            authenticator: RouterAuthenticator(
                tokens: tokens,
                sessions: sessions,
                signOn: configuration.api.flatMap(Self.signOn),
                owners: owners
            ),
            port: port,
            console: api,
            stream: watchers.stream,
            loop: outgoing.lowLoops.api,
            counts: parts.listeners,
            now: now,
            logger: logger
        )
    }

    private static func signOn(_ api: Configuration.API) -> ProxySignOn? {
        api.signOn.map {
            ProxySignOn($0, isTrustedProxy: api.trustedProxies.contains, url: api.console.inbound?.publicURL)
        }
    }
}

/// What runs, as far as operators, users and senders ask about it.
struct RunningParts {
    let configuration: Configuration
    let settings: ActiveSettings
    let identity: KeyPair
    let stores: Stores
    let outgoing: Outgoing
    let watchers: Watchers
    let courier: Courier
    /// Nil: the router serves alone.
    let cluster: ClusterPart?
    let link: ClusterLink?
    let events: Events
    let relays: Relays
    let listeners: ListenerCounts
    let serving: ServingFlag
    let runningLog: RunningLog
    let now: @Sendable () -> Timestamp
}

extension RunningParts {
    fileprivate var files: OperatorFiles {
        OperatorFiles(
            configuration: configuration,
            partitions: { [weak cluster] in cluster?.stores.map(\.reader) ?? [] },
            isCause: { [weak cluster] in cluster?.isCause($0) ?? false }
        )
    }

    fileprivate var health: RouterHealth {
        RouterHealth(
            isServing: { [serving, cluster] in serving.isSet && cluster?.isServing ?? true },
            pipeline: events.pipeline,
            courier: courier,
            outbox: stores.outbox,
            counts: watchers.counts,
            transports: outgoing.transports,
            pluginProcesses: { [plugins = outgoing.plugins] in plugins.processReports },
            pool: relays.pool,
            wantedRelays: { [configuration, isHere = relays.isHere] in
                Set(configuration.relays.always.filter(isHere))
            },
            group: outgoing.group
        )
    }

    fileprivate func devices(_ files: OperatorFiles) throws -> DeviceOperations {
        DeviceOperations(
            registry: stores.registry,
            sealer: Sealer(),
            files: files,
            sender: RunningTestPushes(
                settings: settings,
                encryptingPlatforms: { [plugins = outgoing.plugins] in plugins.encryptingPlatforms },
                transport: { [transports = outgoing.transports] in transports[$0] },
                now: now
            ),
            configuration: { [settings, plugins = outgoing.plugins] in
                settings.configuration.limited(by: plugins.platformCatalog)
            },
            deliveryID: try DeliveryIDs(stores.registry.keys.seeds).id,
            traceIDs: try configuration.traceIDs(stores.registry.keys.seeds),
            now: now
        )
    }

    fileprivate func status(_ health: RouterHealth, _ keyCensus: KeyCensus, _ files: OperatorFiles) -> StatusReader {
        StatusReader(
            configuration: configuration,
            health: health,
            counts: watchers.counts,
            courier: courier,
            outbox: stores.outbox,
            transports: outgoing.transports,
            plugins: outgoing.plugins,
            pool: relays.pool,
            registry: stores.registry,
            keyCensus: keyCensus,
            files: files,
            partitions: { [weak cluster] in (cluster?.waiting ?? 0, cluster?.failed ?? 0) },
            mark: relays.watch.mark,
            now: now
        )
    }

    fileprivate func view(
        _ devices: DeviceOperations,
        _ users: UserOperations,
        _ status: StatusReader,
        _ files: OperatorFiles
    ) throws -> ClusterView {
        ClusterView(
            queue: QueueOperations(
                registry: stores.registry,
                files: files,
                handle: .running { [courier, outbox = stores.outbox, reader = files.outbox.own, weak cluster] in
                    let place = cluster.map { StorePlace.outbox(of: $0.name) } ?? .alone
                    return (cluster?.stores ?? []) + [WorkingStore(place, courier, outbox, reader)]
                },
                deadLetters: configuration.deadLetters,
                now: now
            ),
            devices: devices,
            users: users,
            own: try own(devices, status, files),
            readers: RouterReaders(
                status: status,
                statistics: watchers.statistics,
                doors: DoorReader(configuration, listeners: listeners, counts: watchers.counts, pool: relays.pool),
                plugins: { [plugins = outgoing.plugins] in
                    PluginOverview(plugins.processReports, refusals: plugins.catalog.refusals)
                },
                kept: kept
            ),
            trace: stores.trace,
            peers: cluster?.peers,
            control: cluster?.peers,
            cluster: { [weak cluster] in cluster?.status }
        )
    }

    /// The events that rules can be tried on.
    fileprivate var kept: KeptEventPages {
        KeptEventPages(stores.keptEvents, path: configuration.keptEventsPath, peers: cluster?.peers, now: now)
    }

    private func own(
        _ devices: DeviceOperations,
        _ status: StatusReader,
        _ files: OperatorFiles
    ) throws -> OwnOperations {
        OwnOperations(
            devices: devices,
            registry: stores.registry,
            trace: stores.trace,
            files: files,
            status: status,
            handles: try DeviceHandles(stores.registry.keys.seeds),
            configuration: { [settings] in settings.configuration },
            pausedUntil: { [courier, weak cluster] device, address in
                ([courier] + (cluster?.couriers ?? [])).compactMap { $0.pausedUntil(device, at: address) }.max()
            }
        )
    }

    fileprivate var notifier: Notifier {
        Notifier(
            outbox: stores.outbox,
            registry: stores.registry,
            intake: events.intake,
            identity: identity,
            shared: link.map(SharedRequestBucket.init),
            // Filters get whole events, and so does whoever looks at those that are kept.
            mustSign: { [settings, areKept = stores.keptEvents != nil] in
                areKept || !settings.configuration.filters.isEmpty
            },
            now: now
        )
    }

    fileprivate func metrics(_ keyCensus: KeyCensus) -> RouterMetrics {
        RouterMetrics(
            counts: watchers.counts,
            listeners: listeners,
            filterNames: { [settings] in settings.configuration.filters.map(\.name) },
            pipeline: events.pipeline,
            intake: events.intake,
            courier: courier,
            outbox: stores.outbox,
            keyCensus: keyCensus,
            transports: outgoing.transports,
            pluginProcesses: { [plugins = outgoing.plugins] in plugins.processReports },
            pool: relays.pool,
            lanes: outgoing.lanes,
            trace: stores.trace,
            tracer: watchers.spans.tracer,
            cluster: { [cluster] in cluster?.status },
            failedInPartitions: { [cluster] in cluster?.failed ?? 0 }
        )
    }
}

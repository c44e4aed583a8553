import Console
import Logging
import Nostr
import Operations
import PluginHost
import Registry
import RouterConfiguration
import Units

/// The half of the router that answers operators and users: it tells of the other half, the ``DataPlane``, and acts on
/// it.
struct ControlPlane {
    let instruments: RouterInstruments
    /// The API, and the same for commands on this machine.
    let operators: Operators

    /// From now on other members of a cluster and NIP-46 sessions get answers, and operational events go out.
    init(
        _ plane: DataPlane,
        _ configuration: Configuration,
        apiToken: ActiveAPIToken,
        runningLog: RunningLog,
        reloader: Reloader,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        let (settings, outgoing, watchers, cluster) = (plane.settings, plane.outgoing, plane.watchers, plane.cluster)
        let registry = plane.registry
        let files = OperatorFiles(
            configuration: configuration,
            partitions: { [weak cluster] in cluster?.stores.map(\.reader) ?? [] },
            isCause: { [weak cluster] in cluster?.isCause($0) ?? false }
        )
        instruments = RouterInstruments(
            plane,
            configuration,
            files,
            refusedReload: { reloader.refused },
            now: now
        )
        let operations = try RunningOperations(plane, configuration, files, instruments.status, now: now)
        if let peers = cluster?.peers {
            peers.answer(with: operations.view.answer)
            watchers.stream.share(with: peers)
            peers.hear { [stream = watchers.stream] in stream.receive($0) }
        }
        watchers.operationalEvents.begin(
            OperationalEvents.Sources(
                transports: outgoing.transports,
                plugins: outgoing.plugins,
                pool: plane.relays.pool,
                registry: registry,
                files: files,
                status: instruments.status
            ),
            notifier: operations.notifier
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
            devices: operations.devices,
            sessions: sessions,
            listeners: plane.sockets.counts,
            users: operations.users,
            logs: LogOperations(levels: runningLog.levels),
            health: instruments.health,
            metrics: instruments.metrics,
            plugins: outgoing.plugins,
            transports: outgoing.transports,
            view: operations.view,
            clusterOperations: cluster.map { cluster in
                ClusterOperations(
                    status: { [weak cluster] in cluster?.status },
                    peers: cluster.peers,
                    control: cluster.peers
                )
            },
            stream: watchers.stream,
            notifier: operations.notifier,
            rules: { (settings.configuration, settings.rules) },
            differences: RulesDifferences(
                kept: operations.kept,
                registry: registry,
                showingPlatforms: { [plugins = outgoing.plugins] in plugins.showingPlatforms },
                now: now
            ),
            reload: reloader.reload,
            now: now
        )
        plane.events.ownQuestions.begin(OwnSession(api.operations, owners: owners, now: now))
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
            counts: plane.sockets.counts,
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

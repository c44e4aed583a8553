import Cipher
import Delivery
import HTTPLanes
import Logging
import Operations
import Pipeline
import Registry
import RouterConfiguration
import ServiceLifecycle
import Units
import YAMLReading

/// The parts put together, from one configuration.
///
///     let router = try Router(configuration: configuration, logger: logger)
///     try await router.run()   // until graceful shutdown
package final class Router: Service {
    private let plane: DataPlane
    private let operators: Operators
    private let reloader: Reloader
    private let stop: StopSignal
    /// Everything else that runs; it receives a callback for the relay socket's port.
    private let upkeep: @Sendable (_ started: @escaping @Sendable (Int) -> Void) -> Upkeep
    private let now: @Sendable () -> Timestamp
    private let logger: Logger

    /// Opens everything; attempts nothing yet.
    ///
    /// `reread` reads the configuration again for a reload; `serviceManager` receives the progress; `platforms` are
    /// those of the loaded plugins; `logger` writes to `runningLog`. `link`: to the cluster that the router is to be a
    /// member of; it blocks until this member has the cluster's registry.
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
        let stop = StopSignal()
        self.stop = stop
        // Two routers that both ignored the block would send everything twice.
        guard configuration.cluster == nil || link != nil else { throw RouterError.apartFromItsCluster }
        let claim = try StoreClaim(configuration, logger: logger)
        let apiToken = ActiveAPIToken(
            try configuration.api.map { try APITokenFile(path: $0.tokenFile).readOrCreate(random: SecureRandom.bytes) }
        )
        let plane = try DataPlane(
            configuration,
            claim,
            platforms: platforms,
            membership: link.map { ClusterMembership($0, identity: claim.identity, logger: logger, now: now) },
            stop: stop,
            log: RouterLog(logger: logger, now: now),
            now: now
        )
        self.plane = plane
        let announcer = Announcer(
            settings: plane.settings,
            transports: plane.outgoing.transports,
            sockets: plane.sockets,
            relays: plane.relays,
            registry: plane.registry,
            logger: logger
        )
        reloader = Reloader(
            configuration,
            reread: reread,
            plane,
            apiToken: apiToken,
            announcer: announcer,
            serviceManager: serviceManager,
            logger: logger,
            runningLog: runningLog,
            now: now
        )
        let control = try ControlPlane(
            plane,
            configuration,
            apiToken: apiToken,
            runningLog: runningLog,
            reloader: reloader,
            now: now,
            logger: logger
        )
        operators = control.operators
        upkeep = { [instruments = control.instruments] started in
            Upkeep(
                plane,
                announcer: announcer,
                instruments: instruments,
                serviceManager: serviceManager,
                started: started,
                logger: logger
            )
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
        var parts: [any RouterPart] = [
            plane.stores, plane.watchers, plane.outgoing, plane.watchers.spans, operators, plane.deliveries,
        ]
        if let cluster = plane.cluster { parts.append(cluster) }
        parts += [plane.events, plane.relays, plane.sockets, upkeep(started)] as [any RouterPart]
        try await RouterLifecycle(parts, stop: stop) { [settings = plane.settings, now] in
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
    package var shutdownTime: Duration { plane.settings.configuration.shutdownTime }

    /// Where the sealed ingress listens; nil before it does, and where there is none.
    package var sealedIngressPort: Int? { plane.sockets.ingressPort }

    /// Where the API listens; nil before it does, and where there is none.
    package var consolePort: Int? { operators.port }

    /// For tests.
    var registry: Registry { plane.registry }
    var courier: Courier { plane.courier }
    var intake: Intake { plane.events.intake }
    var lanes: HTTPLanes { plane.outgoing.lanes }
}

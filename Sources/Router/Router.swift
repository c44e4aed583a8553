import Cipher
import Core
import Delivery
import HTTPClient
import Logging
import Operations
import Pipeline
import Registry
import RouterConfiguration
import ServiceLifecycle
import Storage

/// The parts put together, from one configuration.
///
///     let router = try Router(configuration: configuration, logger: logger)
///     try await router.run()   // until graceful shutdown
package final class Router: Service {
    let plane: DataPlane
    private let control: ControlPlane
    private let announcer: Announcer
    private let process: RouterProcess
    private let reloader: Reloader

    /// Opens everything; attempts nothing yet.
    ///
    /// `platforms` are those of the loaded plugins; `logger` writes to the log of `process`. With a `membership` it
    /// joins a cluster and blocks until it has the registry. `endpoints` are additional ones of the API.
    ///
    /// Throws `Diagnostics` for errors in files that an operator can correct, a `StoreLockError` when another router
    /// has the store, a `FeedError` when there is nothing to feed from, and the stores' errors.
    package init(
        configuration: Configuration,
        process: RouterProcess = RouterProcess(),
        platforms: KnownPlatforms? = nil,
        logger: Logger,
        membership: (any Membership)? = nil,
        endpoints: (MemberSurvey) -> [APIOperation] = { _ in [] }
    ) throws {
        self.process = process
        let environment = try RouterEnvironment(configuration, membership, logger)
        let apiToken = ActiveAPIToken(
            try configuration.api.map { try APITokenFile(path: $0.tokenFile).readOrCreate(random: SecureRandom.bytes) }
        )
        plane = try DataPlane(environment, platforms: platforms)
        announcer = Announcer(plane)
        reloader = Reloader(plane, apiToken: apiToken, announcer: announcer, process)
        control = try ControlPlane(
            plane,
            apiToken: apiToken,
            levels: process.levels,
            reloader: reloader,
            endpoints: endpoints
        )
    }

    /// Serves until graceful shutdown, then lets work in flight end and leaves the rest in the outbox.
    package func run() async throws { try await run { _ in } }

    /// The same; `started` receives the port of the relay socket once everything works.
    package func run(started: @escaping @Sendable (Int) -> Void) async throws {
        // In the order of the start. Stopping reverses it: events from the sockets are fully processed before the next
        // part stops.
        var parts: [any RouterPart] = [
            plane.stores, plane.watchers, plane.outgoing, plane.watchers.spans, control.operators, plane.deliveries,
        ]
        if let membership = plane.environment.membership { parts.append(membership) }
        parts +=
            [
                plane.events, plane.relays, plane.sockets,
                Maintenance(plane, control, announcer, process.serviceManager, started: started),
            ] as [any RouterPart]
        try await RouterLifecycle(parts, stop: plane.environment.stop) { [plane] in
            StopBudget(plane.settings.configuration.shutdownTime, now: plane.environment.now)
        }
        .run()
        plane.environment.logger.info("Stopped", metadata: ["waiting": "\(plane.deliveries.courier.waiting)"])
    }

    /// Reads the configuration again at a signal, whose sender does not try again.
    package func reloadAtSignal() async { await reloader.reloadAtSignal() }

    /// How long stopping may take in all.
    package var shutdownTime: Duration { plane.settings.configuration.shutdownTime }

    /// Where the sealed ingress listens; nil before it does, and where there is none.
    package var sealedIngressPort: Int? { plane.sockets.ingressPort }

    /// Where the API listens; nil before it does, and where there is none.
    package var consolePort: Int? { control.operators.listening.port }
}

/// The process that a router runs in.
package struct RouterProcess: Sendable {
    /// Reads the configuration again; nil where it came from no file.
    let reread: (@Sendable () throws(Diagnostics) -> Configuration)?
    /// Receives the progress.
    let serviceManager: ServiceManager?
    /// The log's levels.
    let levels: LogLevels
    /// Sets up the log as a configuration says.
    let applyLog: @Sendable (Configuration.Log) -> Void

    package init(
        reread: (@Sendable () throws(Diagnostics) -> Configuration)? = nil,
        serviceManager: ServiceManager? = nil,
        levels: LogLevels = LogLevels(),
        applyLog: @escaping @Sendable (Configuration.Log) -> Void = { _ in }
    ) {
        (self.reread, self.serviceManager, self.levels, self.applyLog) = (reread, serviceManager, levels, applyLog)
    }
}

/// Everything that all parts of one router share.
struct RouterEnvironment: Sendable {
    /// As it was at the start.
    let configuration: Configuration
    let claim: StoreClaim
    /// Nil: the router is not in a cluster.
    let membership: (any Membership)?
    let stop = StopSignal()
    let log: RouterLog
    let logger: Logger
    let now: @Sendable () -> Timestamp

    init(_ configuration: Configuration, _ membership: (any Membership)?, _ logger: Logger) throws {
        // Two routers that both ignored the block would send everything twice.
        guard !configuration.hasMembership || membership != nil else { throw RouterError.notJoined }
        now = Timestamp.now
        log = RouterLog(logger: logger, now: now)
        claim = try membership?.claim ?? StoreClaim(configuration, logger: logger)
        (self.configuration, self.membership, self.logger) = (configuration, membership, logger)
    }
}

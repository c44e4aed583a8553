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

/// A push router: all its parts, made from one configuration.
///
///     let router = try Router(configuration: configuration, logger: logger)
///     try await router.run()   // until graceful shutdown
package final class Router: Service {
    let plane: DataPlane
    private let control: ControlPlane
    private let announcer: Announcer
    private let process: RouterProcess
    private let reloader: Reloader

    /// Opens the stores and loads the plugins. It sends nothing yet.
    ///
    /// `platforms` are those of the loaded plugins; `logger` writes to the log of `process`. With a `membership` it
    /// joins a cluster and blocks until it has the registry. `endpoints` are additional API endpoints.
    ///
    /// Throws `Diagnostics` for errors in files that an operator can correct, a `StoreLockError` when another router
    /// has the store, a `FeedError` if the feed cannot be opened, and the stores' errors.
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

    /// Serves until graceful shutdown. Then it finishes work in flight, and leaves the rest in the outbox.
    package func run() async throws { try await run { _ in } }

    /// Serves like ``run()``; `started` receives the port of the relay socket once everything works.
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

    /// Reloads the configuration after a signal, whose sender does not retry.
    package func reloadAtSignal() async { await reloader.reloadAtSignal() }

    /// The time limit for a shutdown.
    package var shutdownTime: Duration { plane.settings.configuration.shutdownTime }

    /// The port of the sealed ingress; nil before it listens, and if there is none.
    package var sealedIngressPort: Int? { plane.sockets.ingressPort }

    /// The port of the API; nil before it listens, and if there is none.
    package var consolePort: Int? { control.operators.listening.port }
}

/// The process that a router runs in.
package struct RouterProcess: Sendable {
    /// Reads the configuration file again; nil if there is no file.
    let reread: (@Sendable () throws(Diagnostics) -> Configuration)?
    /// Gets status messages about startup, reloads and shutdown; nil: none.
    let serviceManager: ServiceManager?
    /// The log levels.
    let levels: LogLevels
    /// Applies the log settings of a configuration.
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

/// The environment that all parts of one router share.
struct RouterEnvironment: Sendable {
    /// The configuration at the start.
    let configuration: Configuration
    let claim: StoreClaim
    /// Nil: the router is not in a cluster.
    let membership: (any Membership)?
    let stop = StopSignal()
    let log: RouterLog
    let logger: Logger
    let now: @Sendable () -> Timestamp

    init(_ configuration: Configuration, _ membership: (any Membership)?, _ logger: Logger) throws {
        // Two routers that both ignored the `cluster` block would send every push twice.
        guard configuration.cluster == nil || membership != nil else { throw RouterError.notJoined }
        now = Timestamp.now
        log = RouterLog(logger: logger, now: now)
        claim = try membership?.claim ?? StoreClaim(configuration, logger: logger)
        (self.configuration, self.membership, self.logger) = (configuration, membership, logger)
    }
}

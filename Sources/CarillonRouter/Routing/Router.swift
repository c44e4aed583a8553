import Cipher
import Delivery
import Feed
import Foundation
import HTTPLanes
import Logging
import NIOCore
import NIOPosix
import Nostr
import Notifications
import Pipeline
import PluginHost
import Registry
import RelayServer
import ServiceLifecycle

/// The house put together: sources, pipeline, outbox, courier, plugins and lanes, from one configuration.
///
///     let router = try Router(configuration: configuration, logger: logger)
///     try await router.run()   // until graceful shutdown
package final class Router: Service {
    private let configuration: Configuration
    private let logger: Logger
    private let now: @Sendable () -> Int64
    private let group: MultiThreadedEventLoopGroup
    private let lanes: HTTPLanes
    private let plugins: PluginHost
    private let courier: Courier
    private let intake: Intake
    private let registry: Registry
    private let identity: KeyPair
    private let pipeline: PipelineThread
    private let transports: Transports
    private let advertising: Advertising
    private let feed: Feed?
    private let feedEnd = FeedEnd()
    private let lock: StoreLock

    /// How long outcomes under way are waited for when the router stops, in milliseconds. With what plugins get below it stays
    /// under the ten seconds that container engines give: what has not ended by then is kept and goes on at the next start.
    private static let patience: Int64 = 6_000
    /// How long plugins may take to let go of what was cancelled, in milliseconds.
    private static let pluginPatience: Int64 = 2_000

    /// Opens everything; attempts nothing yet.
    ///
    /// Throws `Mistakes` for what an operator can mend in a file, a `RouterError` when another router has the store, a
    /// `FeedError` when there is nothing to feed from, and the stores' errors.
    package init(
        configuration: Configuration,
        logger: Logger,
        now: @escaping @Sendable () -> Int64 = Router.systemTime
    ) throws {
        self.configuration = configuration
        self.logger = logger
        self.now = now

        lock = try StoreLock(store: configuration.storePath)
        identity = try Self.identity(configuration)
        let rules = try configuration.loadRules()

        group = MultiThreadedEventLoopGroup(
            numberOfThreads: max(1, min(4, ProcessInfo.processInfo.activeProcessorCount))
        )
        lanes = try HTTPLanes(
            configuration: HTTPLanes.Configuration(
                caFile: configuration.http.caFile,
                allowPrivate: configuration.http.allowPrivate
            ),
            group: group,
            logger: logger
        )
        plugins = PluginHost(
            loading: PluginSearch(folders: configuration.plugins.folders, pins: configuration.plugins.pins),
            log: logger
        )
        let transports = Transports(
            configuration: configuration,
            plugins: plugins,
            settings: InstanceSettings(sender: lanes, log: logger)
        )
        self.transports = transports
        for failure in transports.failures {
            logger.error(
                "A transport cannot start",
                metadata: ["app": "\(failure.app)", "reason": "\(failure.reason)"]
            )
        }

        registry = try Registry(
            store: RegistryStore(path: configuration.storePath),
            identity: identity,
            now: now,
            check: transports.check
        )
        let log = RouterLog(logger: logger)
        let outbox = try Outbox(path: configuration.outboxPath)
        courier = try Courier(
            CourierEnvironment(
                store: outbox,
                directory: RegisteredDevices(registry: registry),
                observer: log,
                now: now,
                alarm: DispatchAlarm(now: now),
                host: { URLParts($0.token)?.origin.host },
                transport: { transports[$0] }
            ),
            log: logger
        )
        advertising = Advertising(
            identity: identity,
            relays: configuration.relays.publish,
            publisher: nil,
            alarm: DispatchAlarm(now: now),
            now: now,
            logger: logger
        )
        intake = Intake()
        feed = try Self.feed(configuration, into: intake, end: feedEnd, now: now, logger: logger)
        let courier = courier
        pipeline = PipelineThread(
            isFull: { courier.isFull },
            pipeline: try Pipeline(
                settings: PipelineSettings(rules: rules, defaultMode: configuration.defaultMode),
                registry: registry,
                intake: intake,
                accepted: outbox.causes,
                deliveryID: DeliveryIDs(identity: identity).id,
                keep: { try courier.accept($0, causes: $1.map(\.bytes.array)) },
                now: now,
                observer: log,
                logger: logger
            )
        )
    }

    /// Serves until graceful shutdown, then lets what is under way end and leaves the rest in the outbox.
    package func run() async throws {
        try await run(started: { _ in })
    }

    /// The same; `started` learns the port of the relay socket once it listens.
    package func run(started: @Sendable (Int) -> Void) async throws {
        let keeper = Task { await plugins.run() }
        defer { keeper.cancel() }
        // First of all: where it fails nothing was attempted yet.
        let listener = try await listen()
        advertise(port: listener.port)
        courier.start()
        logger.info(
            "Listening",
            metadata: [
                "relay": "\(configuration.relay.host):\(listener.port)", "npub": "\(NIP19.npub(identity.publicKey))",
                "platforms": "\(transports.platforms.joined(separator: ", "))",
            ]
        )
        feed?.start()
        started(listener.port)
        await stopWanted()
        logger.info("Stopping")
        do {
            try await listener.close()
        } catch {
            logger.warning("The relay socket did not close", metadata: ["error": "\(error)"])
        }
        advertising.stop()
        await feed?.stop()
        intake.close()
        await pipeline.join()
        await courier.shutdown(deadline: now() + Self.patience)
        await closeConnections()
        logger.info("Stopped", metadata: ["waiting": "\(courier.waiting)"])
    }

    /// Returns on graceful shutdown, and at the end of a feed that is to be the router's too.
    private func stopWanted() async {
        await withTaskGroup { [feedEnd] group in
            // Throws when this task is cancelled, which is to stop as well.
            group.addTask { try? await gracefulShutdown() }
            group.addTask { await feedEnd.wait() }
            await group.next()
            group.cancelAll()
        }
    }

    private func advertise(port: Int) {
        do {
            try advertising.advertise(
                Advertisement(configuration: configuration, port: port, platforms: transports.platforms),
                stored: registry.storedEvents(of: identity.publicKey),
                keep: { try registry.keep($0) }
            )
        } catch {
            logger.error("The advertisement could not be kept, so there is none", metadata: ["error": "\(error)"])
        }
    }

    private func listen() async throws -> RelayListener {
        do {
            return try await relayServer().start()
        } catch {
            intake.close()
            await pipeline.join()
            await closeConnections()
            throw RouterError.cannotListen(host: configuration.relay.host, port: configuration.relay.port, error)
        }
    }

    private func closeConnections() async {
        // What plugins still wait for ends with the lanes, and they with it.
        await lanes.shutdown()
        await plugins.shutDown(within: Self.pluginPatience)
        do {
            try await group.shutdownGracefully()
        } catch {
            logger.warning("The event loops did not end well", metadata: ["error": "\(error)"])
        }
    }

    private func relayServer() -> RelayServer {
        var relay = RelayServerConfiguration()
        relay.host = configuration.relay.host
        relay.port = configuration.relay.port
        relay.url = configuration.relay.url
        return RelayServer(
            configuration: relay,
            information: RelayInformation(
                name: configuration.relay.name,
                description: configuration.relay.description,
                pubkey: identity.publicKey.hex,
                contact: configuration.relay.contact,
                version: Version.current,
                limits: relay.limits
            ),
            backend: SocketBackend(
                intake: intake,
                registry: registry,
                logger: logger,
                advertisement: { [advertising] in advertising.event }
            ),
            group: group,
            now: now,
            challenge: { Hex.encode(SecureRandom.bytes(16)) },
            logger: logger
        )
    }

    /// Milliseconds since 1970 by the system's clock.
    @Sendable package static func systemTime() -> Int64 {
        Int64(Date().timeIntervalSince1970 * 1000)
    }
}

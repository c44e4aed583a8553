import AccountWatch
import Delivery
import Feed
import Foundation
import HTTPLanes
import Logging
import NIOCore
import NIOPosix
import Nostr
import Pipeline
import PluginHost
import Registry
import RelayPool
import RelayServer
import RemoteSigning
import Rules
import Sealing
import ServiceLifecycle
import WebIngress
import YAMLReading

/// The house put together: sources, pipeline, outbox, courier, plugins and lanes, from one configuration.
///
///     let router = try Router(configuration: configuration, logger: logger)
///     try await router.run()   // until graceful shutdown
package final class Router: Service {
    let configuration: Configuration
    let logger: Logger
    let now: @Sendable () -> Int64
    let group: MultiThreadedEventLoopGroup
    let lanes: HTTPLanes
    let plugins: PluginHost
    let transports: Transports
    let courier: Courier
    let identity: KeyPair
    let rules: RuleBook
    let registry: Registry
    let intake: Intake
    let pipeline: PipelineThread
    let server: RelayServer
    let watch: AccountWatch
    let pool: RelayPool
    let advertising: Advertising
    let ingress: WebIngress?
    let ingressPort = Late<Int>()
    let feed: Feed?
    let feedEnd = FeedEnd()
    private let lock: StoreLock

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
        rules = try configuration.loadRules()

        group = MultiThreadedEventLoopGroup(
            numberOfThreads: max(1, min(4, ProcessInfo.processInfo.activeProcessorCount))
        )
        lanes = try HTTPLanes(configuration: configuration.lanes, group: group, logger: logger)
        plugins = PluginHost(
            loading: PluginSearch(folders: configuration.plugins.folders, pins: configuration.plugins.pins),
            log: logger
        )
        transports = Transports(
            configuration: configuration,
            plugins: plugins,
            settings: InstanceSettings(sender: lanes, log: logger)
        )
        if configuration.isOfEnvironment, !transports.failures.isEmpty {
            throw Mistakes(transports.failures.map { Configuration.environmentMistake($0.reason) })
        }
        for failure in transports.failures {
            logger.error(
                "A transport cannot start",
                metadata: ["app": "\(failure.app)", "reason": "\(failure.reason)"]
            )
        }

        let lateWatch = Late<AccountWatch>()
        registry = try Registry(
            store: RegistryStore(path: configuration.storePath),
            identity: identity,
            now: now,
            changed: { lateWatch.value?.changed($0) },
            check: transports.check
        )
        var watching = configuration.accountWatch
        watching.maxRelays = min(watching.maxRelays, OpenFiles.relays(within: OpenFiles.raiseLimit()))
        watch = try AccountWatch(
            registry: registry,
            configuration: watching,
            now: now,
            logger: logger
        )
        lateWatch.set(watch)

        let log = RouterLog(logger: logger)
        let outbox = try Outbox(path: configuration.outboxPath)
        courier = try Self.courier(outbox, registry: registry, transports: transports, log: log, now: now)
        intake = Intake()
        pool = try RelayPool(
            configuration: configuration.relayPool(for: rules),
            identity: identity,
            group: group,
            http: lanes,
            delegate: RelayReception(intake: intake, watch: watch),
            mark: watch.mark,
            now: now,
            logger: logger
        )
        advertising = Advertising(
            identity: identity,
            relays: configuration.relays.publish,
            publisher: pool,
            alarm: DispatchAlarm(now: now),
            now: now,
            logger: logger
        )
        server = Self.relayServer(
            configuration,
            identity: identity,
            backend: SocketBackend(
                intake: intake,
                registry: registry,
                logger: logger,
                advertisement: { [advertising] in advertising.event }
            ),
            group: group,
            now: now,
            logger: logger
        )
        ingress = Self.sealedIngress(
            configuration,
            registry: registry,
            courier: courier,
            loop: group.next(),
            now: now,
            logger: logger
        )
        feed = try Self.feed(configuration, into: intake, end: feedEnd, now: now, logger: logger)
        let signing = try RemoteSigningService(
            configuration: configuration.remoteSigning,
            identity: identity,
            registry: registry,
            reply: { [server, pool] reply, source in
                // Who asks at a relay may listen here.
                server.broadcast(reply)
                if source == .relays { pool.publish(reply, to: configuration.relays.nip46) }
            },
            now: now,
            logger: logger
        )

        let courier = courier
        pipeline = PipelineThread(
            isFull: { courier.isFull },
            pipeline: try Pipeline(
                settings: PipelineSettings(
                    rules: rules,
                    defaultMode: configuration.defaultMode,
                    encryptingPlatforms: plugins.encryptingPlatforms,
                    contextWait: configuration.context.waitMilliseconds,
                    contextPath: configuration.contextPath
                ),
                registry: registry,
                intake: intake,
                doors: PipelineDoors(
                    remoteSigner: PipelineSigner(service: signing),
                    contextFetcher: RelayContextFetcher(
                        pool: pool,
                        patience: configuration.context.waitMilliseconds
                    ),
                    hintObserver: configuration.hints.policy == .ignore ? nil : watch,
                    sealer: DeviceSealer(
                        registry: registry,
                        sealer: Sealer(identity: identity.secret),
                        logger: logger
                    )
                ),
                accepted: outbox.causes,
                deliveryID: DeliveryIDs(identity: identity).id,
                keep: { try courier.accept($0, causes: $1.map(\.bytes.array)) },
                now: now,
                observer: log,
                logger: logger
            )
        )
    }

    /// Milliseconds since 1970 by the system's clock.
    @Sendable package static func systemTime() -> Int64 {
        Int64(Date().timeIntervalSince1970 * 1000)
    }
}

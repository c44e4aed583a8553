import AccountWatch
import Cipher
import Console
import Delivery
import EventTrace
import Feed
import Foundation
import HTTPLanes
import Listening
import Logging
import NIOCore
import NIOPosix
import Nostr
import Operations
import Pipeline
import PluginHost
import Registry
import RelayPool
import RelayServer
import RemoteSigning
import RouterConfiguration
import Rules
import Sealing
import ServiceLifecycle
import Synchronization
import WebIngress
import YAMLReading

/// The house put together: sources, pipeline, outbox, courier, plugins and lanes, from one configuration.
///
///     let router = try Router(configuration: configuration, logger: logger)
///     try await router.run()   // until graceful shutdown
package final class Router: Service {
    /// What it began with; of what a reload changes ``inForce`` knows better.
    let configuration: Configuration
    /// Reads the configuration anew; nil where it came from no file.
    let reread: (@Sendable () throws(Mistakes) -> Configuration)?
    let serviceManager: ServiceManager?
    let logger: Logger
    let now: @Sendable () -> Int64
    let group: MultiThreadedEventLoopGroup
    let lanes: HTTPLanes
    let plugins: PluginHost
    let transports: TransportsInForce
    let courier: Courier
    let outbox: Outbox
    let counts: RouterCounts
    let listeners: ListenerCounts
    let identity: KeyPair
    let inForce: InForce
    let reloading = ReloadGate()
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
    /// Nil: the configuration switches it off.
    let trace: TraceStore?
    /// What operators may ask and do while it runs.
    package let operations: DeviceOperations
    let feedEnd = FeedEnd()
    let port = Late<Int>()
    let serving = Atomic<Bool>(false)
    /// Empty where the configuration has no API; a reload takes it anew.
    let apiToken = Late<APIToken>()
    let apiPort = Late<Int>()
    private let lock: StoreLock

    /// Opens everything; attempts nothing yet.
    ///
    /// `reread` reads the configuration anew for a reload; `serviceManager` is told how it goes.
    ///
    /// Throws `Mistakes` for what an operator can mend in a file, a `RouterError` when another router has the store, a
    /// `FeedError` when there is nothing to feed from, and the stores' errors.
    package init(
        configuration: Configuration,
        reread: (@Sendable () throws(Mistakes) -> Configuration)? = nil,
        serviceManager: ServiceManager? = nil,
        logger: Logger,
        now: @escaping @Sendable () -> Int64 = SystemTime.now
    ) throws {
        self.configuration = configuration
        self.reread = reread
        self.serviceManager = serviceManager
        self.logger = logger
        self.now = now

        if geteuid() == 0, let owner = FolderOwner(ofFolderOf: configuration.storePath) {
            throw RouterError.foreignFolder(of: configuration.storePath, owner)
        }
        lock = try configuration.inItsWords { try StoreLock(store: configuration.storePath) }
        if let fault = try LostRegistry.fault(configuration) { throw fault }
        if let warning = LostOutbox.warning(configuration) {
            logger.error("A database is missing; an empty one takes its place", metadata: ["loss": "\(warning)"])
        }
        identity = try Self.identity(configuration)
        let rules = try configuration.loadRules()
        if let api = configuration.api {
            apiToken.set(try APITokenFile(path: api.tokenFile).readOrCreate(random: SecureRandom.bytes))
        }

        group = MultiThreadedEventLoopGroup(
            numberOfThreads: max(1, min(4, ProcessInfo.processInfo.activeProcessorCount))
        )
        let (lanesGroup, lanesSettings) = (group, configuration.lanes)
        lanes = try configuration.inItsWords {
            try HTTPLanes(configuration: lanesSettings, group: lanesGroup, logger: logger)
        }
        plugins = PluginHost(
            loading: PluginSearch(folders: configuration.plugins.folders, pins: configuration.plugins.pins),
            log: logger
        )
        let begun = Transports(
            configuration: configuration,
            plugins: plugins,
            settings: InstanceSettings(sender: lanes, log: logger)
        )
        if configuration.isOfEnvironment, !begun.failures.isEmpty {
            throw Mistakes(begun.failures.map { Configuration.environmentMistake($0.reason) })
        }
        transports = TransportsInForce(begun)
        for failure in begun.failures {
            logger.error(
                "A transport cannot start",
                metadata: ["app": "\(failure.app)", "reason": "\(failure.reason)"]
            )
        }

        let log = RouterLog(logger: logger, now: now)
        for file in ExposedFiles(configuration).found {
            logger.warning(
                "\(file.isFolder ? "The folder of files with secrets" : "A file with secrets") \(file.exposure)",
                metadata: ["file": "\(file.path)", "key": "\(file.key)", "remedy": "\(file.remedy)"]
            )
        }
        let filters = Filters(
            configuration: configuration,
            plugins: plugins,
            settings: InstanceSettings(sender: lanes, log: logger)
        )
        inForce = InForce(configuration, rules, filters)
        for failure in filters.failures {
            logger.error(
                "A filter cannot start",
                metadata: ["filter": "\(failure.name)", "reason": "\(failure.reason)"]
            )
        }
        Self.tell(FilterDoubts(configuration, rules, filters.all).found, logger)

        let lateWatch = Late<AccountWatch>()
        let keepCode = Late<@Sendable (Delivery) throws -> Void>()
        let codes = TargetCodes(name: configuration.relay.name, keep: keepCode, now: now, logger: logger)
        let checks = RegistrationChecks(transports: transports, lanes: lanes, inForce: inForce)
        registry = try Registry(
            store: RegistryStore(path: configuration.storePath, damaged: log.damaged),
            identity: identity,
            limits: configuration.relay.registrations,
            now: now,
            changed: { lateWatch.value?.changed($0) },
            check: checks.address,
            checkSignal: checks.signal,
            pushCode: codes.push
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

        trace = configuration.trace.map {
            TraceStore(path: configuration.tracePath, limits: $0, now: now, logger: logger)
        }
        let counts = RouterCounts(now: now)
        self.counts = counts
        listeners = ListenerCounts(configuration)
        intake = Intake(answered: counts.answered)
        let trials = TokenTrials(now: now)
        let observers = RouterObservers(
            pipeline: [log, counts] + (trace.map { [$0] } ?? []),
            deliveries: [PaceFeedback(intake: intake, now: now), log, counts, trials] + (trace.map { [$0] } ?? [])
        )
        outbox = try Outbox(
            path: configuration.outboxPath,
            limit: configuration.mostWaiting,
            damaged: log.damaged
        )
        courier = try Self.courier(
            outbox,
            registry: registry,
            transports: transports,
            observer: observers,
            now: now,
            logger: logger
        )
        keepCode.set { [weak courier] in try courier?.accept([$0]) }
        pool = try RelayPool(
            configuration: configuration.relayPool(for: rules, lists: filters.lists),
            identity: identity,
            group: group,
            http: lanes,
            delegate: RelayReception(intake: intake, watch: watch, counts: counts),
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
            counts: listeners.socket,
            logger: logger
        )
        ingress = Self.sealedIngress(
            configuration,
            registry: registry,
            courier: courier,
            trials: trials,
            loop: group.next(),
            now: now,
            counts: listeners.ingress ?? DoorCounts(),
            logger: logger
        )
        feed = try Self.feed(configuration, into: intake, end: feedEnd, logger: logger)
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

        operations = DeviceOperations(
            registry: registry,
            sealer: Sealer(identity: identity.secret),
            files: OperatorFiles(configuration: configuration),
            sender: RunningTestPushes(
                inForce: inForce,
                encryptingPlatforms: { [plugins] in plugins.encryptingPlatforms },
                transport: { [transports] in transports[$0] },
                now: now
            ),
            configuration: { [inForce] in inForce.configuration },
            deliveryID: try DeliveryIDs(identity: identity).id,
            now: now
        )

        let courier = courier
        pipeline = PipelineThread(
            isFull: { courier.isFull },
            pipeline: try Pipeline(
                settings: configuration.pipelineSettings(rules, filters, plugins: plugins),
                registry: registry,
                intake: intake,
                doors: PipelineDoors(
                    remoteSigner: PipelineSigner(service: signing),
                    contextFetcher: RelayContextFetcher(
                        pool: pool,
                        registry: registry,
                        asksOwnRelays: configuration.relays.perUser != .none,
                        patience: configuration.context.waitMilliseconds
                    ),
                    hintObserver: configuration.hints.policy == .ignore ? nil : watch,
                    sealer: DeviceSealer(
                        registry: registry,
                        sealer: Sealer(identity: identity.secret),
                        logger: logger
                    ),
                    paceStore: outbox,
                    room: courier.room,
                    isOurRelay: configuration.isOwnRelay
                ),
                accepted: outbox.causes,
                deliveryID: DeliveryIDs(identity: identity).id,
                keep: { deliveries, causes, pace in
                    do {
                        try courier.accept(deliveries, causes: causes.map(\.bytes.array), pace: pace)
                        counts.kept(true)
                    } catch {
                        counts.kept(false)
                        throw error
                    }
                },
                now: now,
                observer: observers,
                logger: logger
            )
        )
    }
}

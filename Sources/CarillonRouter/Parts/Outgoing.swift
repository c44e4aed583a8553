import Cluster
import Console
import Delivery
import Foundation
import HTTPLanes
import Logging
import NIOCore
import NIOPosix
import Notifications
import Operations
import Pipeline
import PluginHost
import Registry
import RouterConfiguration
import Streams
import Synchronization
import Units
import YAMLReading

/// The event loops, outgoing HTTP, and the plugins with their transports.
final class Outgoing: RouterPart {
    let group: MultiThreadedEventLoopGroup
    let lowLoops = LowPriorityLoops()
    let lanes: HTTPLanes
    /// Requests go out while it is open. Only a member of a cluster closes it.
    let gate: RequestGate
    private let streams: NetworkStreams
    let plugins: PluginHost
    let transports: ActiveTransports
    /// What instances of plugins work with.
    let settings: InstanceSettings
    private let keeper = Mutex<Task<Void, Never>?>(nil)
    private let logger: Logger

    /// Loads the plugins and makes a transport of each block; those that cannot start are in the log.
    ///
    /// `states` is where plugins keep what they are to find again.
    ///
    /// Throws `Diagnostics` where that leaves a configuration of the environment without any, and where the program is
    /// missing that runs plugins; also errors of lanes.
    init(_ configuration: Configuration, states: any PluginStateStore, logger: Logger) throws {
        self.logger = logger
        plugins = try configuration.plugins.load(breadcrumbs: Self.breadcrumbs(configuration, logger), log: logger)
        group = MultiThreadedEventLoopGroup(
            numberOfThreads: max(1, min(4, ProcessInfo.processInfo.activeProcessorCount))
        )
        gate = RequestGate(now: ClusterMember.bootTime)
        var lanesSettings = configuration.lanes
        if configuration.cluster != nil { lanesSettings.gate = gate }
        let lanesGroup = group
        lanes = try configuration.inItsWords {
            try HTTPLanes(configuration: lanesSettings, group: lanesGroup, logger: logger)
        }
        streams = try configuration.inItsWords {
            try NetworkStreams(configuration: lanesSettings, group: lanesGroup, logger: logger)
        }
        settings = InstanceSettings(
            sender: lanes,
            streams: streams,
            log: logger,
            states: PluginStates(states),
            inboundURL: { [inbound = configuration.api?.console.inbound] platform, app in
                inbound.map { InboundCall.url(publicURL: $0.publicURL, platform: platform, app: app) }
            }
        )
        let transports = Transports(configuration: configuration, plugins: plugins, settings: settings)
        if configuration.isOfEnvironment, !transports.failures.isEmpty {
            throw Diagnostics(transports.failures.map { configuration.environmentMistake($0.reason) })
        }
        self.transports = ActiveTransports(transports)
        for failure in transports.failures {
            logger.error(
                "A transport cannot start",
                metadata: ["app": "\(failure.app)", "reason": "\(failure.reason)"]
            )
        }
    }

    /// Where plugins in this process leave notes; nil: there are none, or the file cannot be had.
    private static func breadcrumbs(_ configuration: Configuration, _ logger: Logger) -> Breadcrumbs? {
        guard configuration.plugins.areInRouter else { return nil }
        do {
            return try Breadcrumbs(file: configuration.breadcrumbsPath, log: logger)
        } catch {
            logger.error(
                "No notes are taken of what plugins are given: one that ends the router will end it again",
                metadata: ["file": "\(configuration.breadcrumbsPath)", "reason": "\(error.localizedDescription)"]
            )
            return nil
        }
    }

    func prepare() {
        keeper.withLock { $0 = Task { [plugins] in await plugins.run() } }
    }

    /// What plugins still wait for ends with the lanes.
    func stop(_ time: StopBudget) async {
        await lanes.shutdown()
        await plugins.shutDown(within: time.part(15))
        keeper.withLock { $0 }?.cancel()
        do {
            try await lowLoops.stop()
            try await group.shutdownGracefully()
        } catch {
            logger.warning("The event loops did not end well", metadata: ["error": "\(error)"])
        }
    }
}

/// The courier, which takes deliveries from the outbox to the transports.
final class Deliveries: RouterPart {
    let courier: Courier
    private let hasStarted = Atomic<Bool>(false)

    init(
        _ outbox: Outbox,
        registry: Registry,
        transports: ActiveTransports,
        observer: any DeliveryObserver,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        courier = try Courier(
            CourierEnvironment(
                store: outbox,
                directory: RegisteredDevices(registry: registry),
                observer: observer,
                now: now,
                alarm: DispatchAlarm(now: now),
                host: { URLParts($0.token)?.origin.host ?? ($0.isProven ? nil : CourierEnvironment.newDevices) },
                transport: { transports[$0] }
            ),
            log: logger
        )
    }

    func start() {
        courier.start()
        hasStarted.store(true, ordering: .relaxed)
    }

    /// Leaves what is not through in the outbox.
    func stop(_ time: StopBudget) async {
        guard hasStarted.load(ordering: .relaxed) else { return }
        await courier.shutdown(deadline: time.deadline(50, leaving: 20))
    }
}

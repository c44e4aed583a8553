import CScheduling
import Console
import Core
import Delivery
import Foundation
import HTTPClient
import Logging
import NIOCore
import NIOPosix
import Operations
import Pipeline
import PluginHost
import Push
import Registry
import RouterConfiguration
import Storage
import Synchronization

/// The event loops, outgoing HTTP, and the plugins with their transports.
final class Outgoing: RouterPart {
    let group: MultiThreadedEventLoopGroup
    let lowLoops = LowPriorityLoops()
    let lanes: HTTPLanes
    private let streams: NetworkStreams
    let plugins: PluginHost
    let transports: ActiveTransports
    /// The services that plugin instances use.
    let settings: InstanceSettings
    private let keeper = Mutex<Task<Void, Never>?>(nil)
    private let logger: Logger

    /// Loads the plugins and makes a transport of each block. Logs those that cannot start.
    ///
    /// `states` keeps the plugins' stored data.
    ///
    /// Throws `Diagnostics` if no transport of the configuration can start, or if the program that runs plugins is
    /// missing. Also throws errors of outgoing HTTP.
    init(_ environment: RouterEnvironment, states: any PluginStateStore) throws {
        let (configuration, logger) = (environment.configuration, environment.logger)
        self.logger = logger
        plugins = try configuration.plugins.load(log: logger)
        group = MultiThreadedEventLoopGroup(
            numberOfThreads: max(1, min(4, ProcessInfo.processInfo.activeProcessorCount))
        )
        var lanesSettings = configuration.http.lanes
        lanesSettings.gate = environment.membership?.gate
        let lanesGroup = group
        (lanes, streams) = try configuration.environment.inItsWords {
            (
                try HTTPLanes(configuration: lanesSettings, group: lanesGroup, logger: logger),
                try NetworkStreams(configuration: lanesSettings, group: lanesGroup, logger: logger)
            )
        }
        var settings = InstanceSettings(sender: lanes, streams: streams, log: logger, states: PluginStates(states))
        settings.inboundURL = { [inbound = configuration.api?.console.inbound] platform, app in
            inbound.map { InboundCall.url(publicURL: $0.publicURL, platform: platform, app: app) }
        }
        self.settings = settings
        let transports = Transports(configuration: configuration, plugins: plugins, settings: settings)
        if let environment = configuration.environment, !transports.failures.isEmpty {
            throw Diagnostics(transports.failures.map { environment.mistake($0.reason) })
        }
        self.transports = ActiveTransports(transports)
        for failure in transports.failures {
            logger.error(
                "Failed to start a transport",
                metadata: ["app": "\(failure.app)", "reason": "\(failure.reason)"]
            )
        }
    }

    func prepare() {
        keeper.withLock { $0 = Task { [plugins] in await plugins.run() } }
    }

    /// Stops outgoing HTTP, which also ends the plugins' open requests.
    func stop(_ time: StopBudget) async {
        await lanes.shutdown()
        await plugins.shutDown(within: time.part(15))
        keeper.withLock { $0 }?.cancel()
        do {
            try await lowLoops.stop()
            try await group.shutdownGracefully()
        } catch {
            logger.warning("Failed to stop the event loops", metadata: ["error": "\(error)"])
        }
    }
}

/// The courier, which passes deliveries from the outbox to the transports.
final class Deliveries: RouterPart {
    let courier: Courier
    let stores: Stores
    private let hasStarted = Atomic<Bool>(false)

    init(
        _ environment: RouterEnvironment,
        _ stores: Stores,
        _ transports: ActiveTransports,
        _ observers: RouterObservers,
        _ intake: Intake
    ) throws {
        self.stores = stores
        courier = try Courier(
            CourierEnvironment(
                store: stores.outbox,
                directory: RegisteredDevices(registry: stores.registry),
                observer: observers.adding(PaceFeedback(intake: intake, now: environment.now)),
                now: environment.now,
                alarm: DispatchAlarm(now: environment.now),
                host: CourierEnvironment.host(of:),
                transport: { transports[$0] }
            ),
            log: environment.logger
        )
    }

    func start() {
        courier.start()
        hasStarted.store(true, ordering: .relaxed)
    }

    /// Stops the courier. Unfinished deliveries stay in the outbox.
    func stop(_ time: StopBudget) async {
        guard hasStarted.load(ordering: .relaxed) else { return }
        await courier.shutdown(deadline: time.deadline(50, leaving: 20))
    }
}

/// Event loops for work that must not delay events: the HTTP API and the live event stream.
///
/// Their threads have a lower priority, so that a thread that processes an event runs immediately although requests
/// keep a core busy. If other threads use all cores, each still gets a tenth of one. Work that holds a resource of
/// events, such as the outbox's connection, must not run here.
///
/// `contrib/bench/api/run --pin --readers 1000 --rate 2000`: half of the pushes of events leave within 4.7 ms, without
/// it 8.0 ms.
struct LowPriorityLoops: Sendable {
    /// Steps of niceness: each gives a thread a fifth less of a core that others want.
    private static let steps: Int32 = 10

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    /// Answers requests.
    let api: any EventLoop
    /// Encodes what readers of the stream get, and may read the disk for it.
    let stream: any EventLoop

    init() {
        (api, stream) = (group.next(), group.next())
        // If the system refuses, everything still works, only slower.
        for loop in [api, stream] { loop.execute { _ = carillon_yield_to_others(Self.steps) } }
    }

    func stop() async throws { try await group.shutdownGracefully() }
}

extension CourierEnvironment {
    /// The host of a device's address. Unproven devices without a host share one name.
    @Sendable package static func host(of address: DeviceAddress) -> String? {
        URLParts(address.token)?.origin.host ?? (address.isProven ? nil : newDevices)
    }
}

import Core
import Delivery
import Logging
import Nostr
import Observability
import Operations
import Pipeline
import PluginHost
import Push
import Registry
import RelayServer
import Relays
import RouterConfiguration
import Rules
import Synchronization

/// The event pipeline on its own thread: turns events into deliveries.
struct Events: RouterPart {
    let pipeline: PipelineThread
    private let intake: Intake
    private let logger: Logger

    init(
        _ environment: RouterEnvironment,
        _ entrance: Entrance,
        _ settings: PipelineSettings,
        _ deliveries: Deliveries,
        _ dependencies: PipelineDependencies
    ) throws {
        (intake, logger) = (entrance.intake, environment.logger)
        var dependencies = dependencies
        dependencies.screen = entrance.screen
        let (courier, stores) = (deliveries.courier, deliveries.stores)
        let isAlone = environment.membership == nil
        let storage = PipelineStorage(
            accepted: try stores.outbox.causes,
            paceStore: isAlone ? stores.outbox : nil,
            capacity: isAlone ? courier.capacity : nil
        ) { [counts = entrance.counts] deliveries, causes, pace in
            do {
                try courier.accept(deliveries, causes: causes.map(\.bytes.array), pace: pace)
                counts.kept(true)
            } catch {
                counts.kept(false)
                throw error
            }
        }
        pipeline = PipelineThread(
            isFull: { [membership = environment.membership] in courier.isFull || membership?.isFull ?? false },
            pipeline: try Pipeline(
                settings: settings,
                registry: stores.registry,
                intake: intake,
                storage: storage,
                dependencies: dependencies
            )
        )
    }

    /// Processes accepted events within its share of the time, and rejects the rest. Their senders got no confirmation
    /// yet, so they send them again.
    func stop(_ time: StopBudget) async {
        intake.close()
        let timeout = time.part(30)
        let timeoutTask = Task { [intake, logger] in
            guard (try? await Task.sleep(for: timeout)) != nil else { return }
            logger.warning("Refused events at shutdown: not enough time left")
            intake.abandon()
        }
        await pipeline.join()
        timeoutTask.cancel()
    }
}

extension Outbox {
    /// The events whose deliveries were accepted, the oldest first.
    fileprivate var causes: [EventID] {
        get throws {
            var ids: [EventID] = []
            try forEachCause { bytes in
                if let id = Bytes32(bytes: bytes) { ids.append(EventID(id)) }
            }
            return ids
        }
    }
}

extension PipelineDependencies {
    /// The dependencies that all pipelines of a router share.
    init(
        _ environment: RouterEnvironment,
        _ registry: Registry,
        _ relays: Relays,
        observer: any PipelineObserver
    ) throws {
        let configuration = environment.configuration
        self.init(
            deliveryID: try DeliveryIDs(registry.keys.seeds).id,
            observer: observer,
            now: environment.now,
            logger: environment.logger
        )
        contextFetcher = RelayContextFetcher(
            relays: relays,
            registry: registry,
            asksOwnRelays: configuration.relays.perUser != .none,
            timeout: configuration.context.wait
        )
        hintHeard = configuration.hints.policy == .ignore ? nil : relays.watch.heard
        sealer = DeviceSealer(registry: registry, sealer: Sealer(), logger: environment.logger)
        let own = RelayURL(configuration.relay.ownURL)
        isOurRelay = { text in own != nil && RelayURL(text) == own }
    }

    /// The dependencies of the router's main pipeline. In a cluster, the owners of accounts throttle pushes and fetch
    /// the profiles and notes that texts mention.
    func forAllEvents(
        _ environment: RouterEnvironment,
        _ deliveries: Deliveries,
        _ relays: Relays,
        _ sockets: Sockets
    ) throws -> PipelineDependencies {
        var dependencies = self
        dependencies.remoteSigner = try PipelineSigner(environment, deliveries.stores.registry, relays, sockets)
        if let membership = environment.membership {
            dependencies.owners = membership
            dependencies.contextFetcher = nil
        } else {
            dependencies.ruledEvents = deliveries.stores.keptEvents?.ofRules
        }
        return dependencies
    }
}

/// The NIP-46 sessions as the pipeline sees them.
struct PipelineSigner: RemoteSigner {
    let service: RemoteSigningService

    func receive(_ event: Event, from source: EventSource, register: (Event) -> EventDecision.Result) {
        service.receive(event, from: source.requestSource) { registration in
            switch register(registration) {
            case .accepted, .duplicate, .outdated: .accepted
            case .refused(let message): .refused(message)
            }
        }
    }

    func admits(_ registration: Event) -> Bool { service.admits(registration) }
}

extension PipelineSigner {
    fileprivate init(
        _ environment: RouterEnvironment,
        _ registry: Registry,
        _ relays: Relays,
        _ sockets: Sockets
    ) throws {
        var configuration = RemoteSigningConfiguration(environment.configuration)
        configuration.isShared = environment.membership != nil
        service = try RemoteSigningService(
            configuration: configuration,
            registry: registry,
            reply: { [server = sockets.server, relays, nip46 = environment.configuration.relays.nip46] reply, source in
                // Clients that send requests through another relay may read the responses here.
                server.broadcast(reply)
                if source == .relays { relays.pool.publish(reply, to: nip46.filter(relays.isHere)) }
            },
            own: sockets.ownQuestions.answer,
            now: environment.now,
            logger: environment.logger
        )
    }
}

extension EventSource {
    fileprivate var requestSource: RequestSource {
        switch self {
        case .socket: .ownSocket
        case .feed, .relay, .api: .relays
        }
    }
}

/// Encrypts notifications to the key that each device's registration names.
struct DeviceSealer: NotificationSealer {
    let registry: Registry
    let sealer: Sealer
    let logger: Logger

    func seal(
        _ notification: Push.Notification,
        id: DeliveryID,
        for device: DeviceID
    ) -> Push.Notification? {
        do {
            guard let sealing = try registry.sealing(of: device) else { return nil }
            return try sealer.seal(notification, id: id, for: sealing.key, from: sealing.sender)
        } catch {
            // At debug level, because senders of long notes could otherwise fill the log.
            logger.debug(
                "Failed to seal a notification; sent it with less content",
                metadata: ["delivery": "\(id)", "device": "\(device.rawValue)", "reason": "\(error)"]
            )
            return nil
        }
    }

    func keyMark(of device: DeviceID) -> Int64? {
        do {
            // Also differs by sender key. Events sealed before a router had several keys keep their mark.
            return try registry.sealing(of: device).map { $0.key.mark &+ Int64($0.senderNumber - 1) }
        } catch {
            // Events encrypted before the error then have less information.
            logger.debug(
                "Failed to read a device's sealing key",
                metadata: ["device": "\(device.rawValue)", "reason": "\(error)"]
            )
            return nil
        }
    }
}

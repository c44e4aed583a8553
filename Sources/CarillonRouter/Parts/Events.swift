import AccountWatch
import Delivery
import Logging
import Nostr
import Operations
import Pipeline
import PluginHost
import Registry
import RelayPool
import RelayServer
import RemoteSigning
import RouterConfiguration
import Sealing
import Units

/// The pipeline on its thread, which makes deliveries of events.
struct Events: RouterPart {
    let intake: Intake
    let pipeline: PipelineThread
    /// What NIP-46 sessions ask, for whoever answers it.
    let ownQuestions = OwnQuestions()
    private let logger: Logger

    init(
        intake: Intake,
        settings: PipelineSettings,
        configuration: Configuration,
        stores: Stores,
        courier: Courier,
        relays: Relays,
        sockets: Sockets,
        cluster: ClusterPart?,
        dependencies: PipelineDependencies,
        screen: EventScreen,
        counts: RouterCounts,
        observer: any PipelineObserver,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        self.intake = intake
        self.logger = logger
        var dependencies = dependencies
        dependencies.screen = screen
        var remoteSigning = configuration.remoteSigning
        remoteSigning.isShared = cluster != nil
        let signing = try RemoteSigningService(
            configuration: remoteSigning,
            registry: stores.registry,
            reply: { [server = sockets.server, pool = relays.pool, isRelayHere = relays.isHere] reply, source in
                // Who asks at a relay may listen here.
                server.broadcast(reply)
                if source == .relays { pool.publish(reply, to: configuration.relays.nip46.filter(isRelayHere)) }
            },
            own: ownQuestions.answer,
            now: now,
            logger: logger
        )
        pipeline = PipelineThread(
            isFull: { courier.isFull || cluster?.isFull ?? false },
            pipeline: try Pipeline(
                settings: settings,
                registry: stores.registry,
                intake: intake,
                dependencies: Self.dependencies(
                    dependencies,
                    cluster,
                    PipelineSigner(service: signing),
                    stores,
                    courier
                ),
                accepted: stores.outbox.causes,
                deliveryID: DeliveryIDs(stores.registry.keys.seeds).id,
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
                observer: observer,
                logger: logger
            )
        )
    }

    /// In a cluster the partitions have the paces, and ask for what their texts speak of.
    private static func dependencies(
        _ common: PipelineDependencies,
        _ cluster: ClusterPart?,
        _ signer: PipelineSigner,
        _ stores: Stores,
        _ courier: Courier
    ) -> PipelineDependencies {
        var dependencies = common
        dependencies.remoteSigner = signer
        if let cluster {
            dependencies.owners = cluster
            dependencies.contextFetcher = nil
        } else {
            dependencies.paceStore = stores.outbox
            dependencies.ruledEvents = stores.keptEvents
            dependencies.capacity = courier.capacity
        }
        return dependencies
    }

    /// What all pipelines of a router share.
    static func dependencies(
        _ configuration: Configuration,
        _ registry: Registry,
        _ relays: Relays,
        logger: Logger
    ) -> PipelineDependencies {
        PipelineDependencies(
            contextFetcher: RelayContextFetcher(
                relays: relays.fetching,
                registry: registry,
                asksOwnRelays: configuration.relays.perUser != .none,
                patience: configuration.context.wait
            ),
            hintObserver: configuration.hints.policy == .ignore ? nil : relays.watch,
            sealer: DeviceSealer(registry: registry, sealer: Sealer(), logger: logger),
            isOurRelay: configuration.isOwnRelay
        )
    }

    /// Works off what came in, within its share of the time. Then refuses the rest: its senders were not told that it
    /// is kept, and bring it again.
    func stop(_ time: StopBudget) async {
        intake.close()
        let patience = time.part(30)
        let impatience = Task { [intake, logger] in
            guard (try? await Task.sleep(for: patience)) != nil else { return }
            logger.warning("Refusing events that the time does not suffice for")
            intake.abandon()
        }
        await pipeline.join()
        impatience.cancel()
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

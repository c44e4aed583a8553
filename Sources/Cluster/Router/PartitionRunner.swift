import CarillonRouter
import Core
import Delivery
import HTTPClient
import Logging
import Nostr
import Operations
import Pipeline
import Push
import Registry
import RouterConfiguration

/// The work on a partition that this member owns: a pipeline for its accounts and a courier for their deliveries, on
/// the partition's log.
final class PartitionRunner: Sendable {
    /// How long a moving partition may take to finish accepted events and attempts in flight.
    private static let timeout: Duration = .seconds(5)

    let intake = Intake()
    private let store: LoggedStore
    let courier: Courier
    private let pipeline: PipelineThread
    private let parts: OwnerParts
    private let alarm: any Alarm
    private let logger: Logger
    private let now: @Sendable () -> Timestamp

    /// Sends nothing before ``start()``. `maySend` is checked before each attempt. Throws if the registry cannot be
    /// read.
    init(
        _ store: LoggedStore,
        accepted causes: [[UInt8]],
        of partition: Int,
        in partitioning: Partitioning,
        _ parts: OwnerParts,
        maySend: @escaping @Sendable () -> Bool
    ) throws {
        (self.store, self.parts) = (store, parts)
        (logger, now) = (parts.dependencies.logger, parts.dependencies.now)
        let alarm = DispatchAlarm(now: now)
        self.alarm = alarm
        let courier = try Courier(
            CourierEnvironment(
                store: store,
                directory: LeasedDevices(devices: RegisteredDevices(registry: parts.registry), maySend: maySend),
                observer: parts.observers.adding(PaceFeedback(intake: intake, now: now)),
                now: now,
                alarm: alarm,
                host: CourierEnvironment.host(of:),
                transport: { [transports = parts.transports] in transports[$0] }
            ),
            log: logger
        )
        self.courier = courier
        pipeline = PipelineThread(
            isFull: { courier.isFull },
            pipeline: try Pipeline(
                settings: parts.pipelineSettings.ofPartition,
                registry: parts.registry,
                feed: IndexFeed(of: UInt8(truncatingIfNeeded: partition)) {
                    partitioning.partition(of: $0.bytes.array) == partition
                },
                intake: intake,
                storage: PipelineStorage(
                    accepted: causes.compactMap { Bytes32(bytes: $0).map { EventID($0) } },
                    paceStore: store.outbox,
                    capacity: courier.capacity
                ) { try courier.accept($0, causes: $1.map(\.bytes.array), pace: $2) },
                dependencies: parts.dependencies
            )
        )
    }

    /// Takes events from other members, each with its index in the batch. Calls `taken` with the counts of requested
    /// notifications, or with nil if not all results are stored.
    func take(_ events: [(Int, HandedOverEvent)], taken: @escaping @Sendable (HandOverNotes?) -> Void) {
        // Each request is counted separately.
        let groups = Dictionary(grouping: events) { place, event in
            EventGroup(origin: event.origin, place: event.origin.isRequest ? place : nil)
        }
        let join = HandOverJoin(groups.count, ended: taken)
        for (group, events) in groups {
            guard let source = group.origin.source(parts.order(of:)) else {
                // A failure would make the sender repeat its whole batch forever.
                logger.error("Skipped a requested notification that this member's rules cannot read")
                join.end([:])
                continue
            }
            intake.submit(
                Submission(events: events.map(\.1.json), source: source) { decisions in
                    guard decisions.allSatisfy(\.result.isFinal) else { return join.end(nil) }
                    guard case .api(let order) = source, let place = group.place, let counts = order.counts else {
                        return join.end([:])
                    }
                    join.end([place: counts.bytes])
                }
            )
        }
    }

    private struct EventGroup: Hashable {
        let origin: HandedOverEvent.Origin
        /// Its index in the batch; nil: a group of events.
        let place: Int?
    }

    /// Finishes accepted events and attempts in flight, in this order.
    func drain() async {
        intake.close()
        // A late alarm has no effect.
        alarm.ring(at: now() + Self.timeout) { [intake] in intake.abandon() }
        await pipeline.join()
        await courier.shutdown(deadline: now() + Self.timeout)
    }

    /// Ends immediately: drops uncommitted work, and sends no more pushes.
    func abandon() {
        store.close()
        intake.abandon()
        Task { [courier, now] in await courier.shutdown(deadline: now()) }
    }
}

/// A device directory that fails while this member may not send to the devices.
private struct LeasedDevices: DeviceDirectory {
    struct NoLease: Error, CustomStringConvertible {
        let description = "the lease of the partition is not renewed; sending is paused"
    }

    let devices: RegisteredDevices
    let maySend: @Sendable () -> Bool

    func address(of device: DeviceID) throws -> DeviceAddress? {
        guard maySend() else { throw NoLease() }
        return try devices.address(of: device)
    }

    func removeGone(_ device: DeviceID, registeredAt: Timestamp) throws {
        try devices.removeGone(device, registeredAt: registeredAt)
    }

    func markProven(_ devices: [DeviceID]) throws { try self.devices.markProven(devices) }
}

extension PipelineSettings {
    /// These settings for a partition's pipeline: the context file belongs to the router's main pipeline.
    var ofPartition: PipelineSettings {
        var settings = self
        settings.contextPath = nil
        return settings
    }
}

import Cluster
import Delivery
import HTTPLanes
import Logging
import Nostr
import Notifications
import Operations
import Pipeline
import Registry
import Units

/// What the router of a member is made of, as far as each partition needs it.
struct PartitionParts: Sendable {
    var registry: Registry
    var settings: @Sendable () -> PipelineSettings
    var dependencies: PipelineDependencies
    /// Learns of each event that rules decided about; nil: nobody wants to.
    var ruledEvents: (any RuledEventObserver)?
    var transports: ActiveTransports
    /// Without the one that belongs to the partition.
    var observers: RouterObservers
    /// What a request asks for that another member has taken; nil: it cannot be read here.
    var order: @Sendable ([UInt8]) -> NotificationOrder?
    var deliveryID: @Sendable (EventID, DeviceID) -> DeliveryID
    /// Deliveries that may wait in a partition.
    var limit: Int
    /// What a partition keeps of deliveries that failed for good.
    var deadLetters: DeadLetterLimits
    var now: @Sendable () -> Timestamp
    var logger: Logger
}

/// A partition that this member owns: a pipeline of its own for the accounts in it, and a courier of its own for what
/// that leads to, over the partition's log.
final class PartitionRunner: Sendable {
    /// How long a partition that moves works off what it has taken in, and waits for the attempts that are under way.
    private static let patience: Duration = .seconds(5)

    let intake = Intake()
    private let store: LoggedStore
    let courier: Courier
    private let pipeline: PipelineThread
    private let order: @Sendable ([UInt8]) -> NotificationOrder?
    private let alarm: any Alarm
    private let logger: Logger
    private let now: @Sendable () -> Timestamp

    /// Attempts nothing before ``start()``. `maySend` is asked before each attempt. Throws when the registry cannot be
    /// read.
    init(
        _ store: LoggedStore,
        accepted causes: [[UInt8]],
        of partition: Int,
        in partitioning: Partitioning,
        _ parts: PartitionParts,
        maySend: @escaping @Sendable () -> Bool
    ) throws {
        self.store = store
        (now, order, logger) = (parts.now, parts.order, parts.logger)
        let alarm = DispatchAlarm(now: parts.now)
        self.alarm = alarm
        let observers = parts.observers
        let courier = try Courier(
            CourierEnvironment(
                store: store,
                directory: LeasedDevices(devices: RegisteredDevices(registry: parts.registry), maySend: maySend),
                observer: observers.adding(PaceFeedback(intake: intake, now: parts.now)),
                now: parts.now,
                alarm: alarm,
                host: { URLParts($0.token)?.origin.host ?? ($0.isProven ? nil : CourierEnvironment.newDevices) },
                transport: { [transports = parts.transports] in transports[$0] }
            ),
            log: parts.logger
        )
        var dependencies = parts.dependencies
        dependencies.paceStore = store
        dependencies.ruledEvents = parts.ruledEvents
        dependencies.capacity = courier.capacity
        self.courier = courier
        pipeline = PipelineThread(
            isFull: { courier.isFull },
            pipeline: try Pipeline(
                settings: parts.settings(),
                registry: parts.registry,
                intake: intake,
                dependencies: dependencies,
                accepted: causes.compactMap { Bytes32(bytes: $0).map { EventID($0) } },
                feed: IndexFeed(of: UInt8(truncatingIfNeeded: partition)) {
                    partitioning.partition(of: $0.bytes.array) == partition
                },
                threads: 1,
                deliveryID: parts.deliveryID,
                keep: { try courier.accept($0, causes: $1.map(\.bytes.array), pace: $2) },
                now: parts.now,
                observer: parts.observers,
                logger: parts.logger
            )
        )
    }

    func start() { courier.start() }

    var waiting: Int { store.count }

    /// Takes events that other members hand over. Calls `taken` with whether all of them are kept.
    func take(_ events: [HandedOverEvent], taken: @escaping @Sendable (Bool) -> Void) {
        let groups = Dictionary(grouping: events, by: \.origin)
        let join = HandOverJoin(groups.count, ended: taken)
        for (origin, events) in groups {
            guard let source = origin.source(order) else {
                // It would come again for ever, and everything in its batch with it.
                logger.error("A requested notification cannot be read by this member's rules; it is left out")
                join.end(true)
                continue
            }
            intake.submit(
                Submission(events: events.map(\.json), source: source) { verdicts in
                    join.end(verdicts.allSatisfy(\.result.isFinal))
                }
            )
        }
    }

    /// Ends in order: works off what it has, and lets attempts end that are under way.
    func drain() async {
        intake.close()
        // After the end there is nothing to abandon.
        alarm.ring(at: now() + Self.patience) { [intake] in intake.abandon() }
        await pipeline.join()
        await courier.shutdown(deadline: now() + Self.patience)
    }

    /// Ends at once: what is not kept is not, and nothing more is sent.
    func abandon() {
        store.close()
        intake.abandon()
        Task { [courier, now] in await courier.shutdown(deadline: now()) }
    }
}

/// The devices, as long as this member may send to them.
private struct LeasedDevices: DeviceDirectory {
    struct NoLease: Error, CustomStringConvertible {
        let description = "the lease of the partition is not renewed; nothing is sent"
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

/// An event on its way to the owner of a partition: where it came in (1 byte), up to where the sender had the registry
/// (8 bytes, big-endian), the keys that its client proved to have (1 byte for their number, and 32 for each), and its
/// JSON. Where it stands for a notification that somebody asked for, the request comes before the JSON, behind its
/// length (4 bytes, big-endian).
struct HandedOverEvent {
    /// Where it came in, as far as the owner's stages treat that differently.
    struct Origin: Hashable {
        fileprivate enum Door: UInt8 {
            case live, stored, baseline, socket, feed, request
        }

        fileprivate let door: Door
        fileprivate let authenticated: Set<PublicKey>
        fileprivate let request: [UInt8]

        fileprivate init(_ source: EventSource) {
            var (keys, request): (Set<PublicKey>, [UInt8]) = ([], [])
            switch source {
            case .relay(.live): door = .live
            case .relay(.stored): door = .stored
            case .relay(.baseline), .relay(.fetched): door = .baseline
            case .feed: door = .feed
            case .api(let order):
                door = .request
                request = order.request
            case .socket(let authenticated, _):
                door = .socket
                keys = Set(authenticated.sorted { $0.hex < $1.hex }.prefix(Int(UInt8.max)))
            }
            (authenticated, self.request) = (keys, request)
        }

        fileprivate init(_ door: Door, _ authenticated: Set<PublicKey>, _ request: [UInt8]) {
            (self.door, self.authenticated, self.request) = (door, authenticated, request)
        }

        /// Nil: the request cannot be read.
        func source(_ order: ([UInt8]) -> NotificationOrder?) -> EventSource? {
            switch door {
            case .request: order(request).map { .api($0) }
            case .live: .relay(.live)
            case .stored: .relay(.stored)
            case .baseline: .relay(.baseline)
            case .socket: .socket(authenticated: authenticated)
            case .feed: .feed
            }
        }
    }

    let origin: Origin
    let registry: UInt64
    let json: [UInt8]

    init(from source: EventSource, registry: UInt64, json: [UInt8]) {
        (origin, self.registry, self.json) = (Origin(source), registry, json)
    }

    var bytes: [UInt8] {
        var bytes = [origin.door.rawValue]
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: registry >> UInt64(56 - 8 * $0)) }
        bytes.append(UInt8(origin.authenticated.count))
        for key in origin.authenticated { bytes += key.bytes.array }
        if origin.door == .request {
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: origin.request.count >> (24 - 8 * $0)) }
            bytes += origin.request
        }
        return bytes + json
    }

    /// Nil: the bytes, which may be anything, are no such event.
    init?(_ bytes: [UInt8]) {
        guard bytes.count > 10, let door = Origin.Door(rawValue: bytes[0]) else { return nil }
        registry = bytes[1..<9].reduce(0) { $0 << 8 | UInt64($1) }
        let start = 10 + 32 * Int(bytes[9])
        guard start < bytes.count else { return nil }
        let keys = stride(from: 10, to: start, by: 32).compactMap { PublicKey(bytes: bytes[$0..<$0 + 32]) }
        var (rest, request): (ArraySlice<UInt8>, [UInt8]) = (bytes[start...], [])
        if door == .request {
            guard rest.count > 4 else { return nil }
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            guard length < rest.count else { return nil }
            request = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        origin = Origin(door, Set(keys), request)
        json = Array(rest)
    }
}

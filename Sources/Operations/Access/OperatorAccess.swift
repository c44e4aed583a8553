import Core
import Delivery
import Foundation
import Nostr
import Observability
import Registry
import RouterConfiguration

/// The way of commands to a router's events and devices: by its files, beside the router or without it.
package struct OperatorAccess {
    package enum Purpose: Sendable {
        /// Also while a router runs.
        case reading
        /// While none runs.
        case changing
    }

    let reader: DeviceReader
    package let operations: DeviceOperations
    package let events: EventOperations
    package let users: UserOperations
    /// Keeps routers off for as long as this value lives.
    private let lock: StoreLock?

    /// Throws an ``OperationFailure`` when the files cannot be used for that, `StoreLockError.storeInUse` when a router
    /// has them and something is to be changed, and `Diagnostics` for a key file that is none.
    package init(
        _ configuration: Configuration,
        for purpose: Purpose,
        now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) throws {
        let key = IdentityFile(path: configuration.keyFile)
        guard key.exists, FileManager.default.fileExists(atPath: configuration.storePath) else {
            throw OperationFailure.unreachable(
                "there is no router yet: \(key.exists ? configuration.storePath : configuration.keyFile) is missing, which "
                    + "carillon serve makes when it starts"
            )
        }
        // First, for it says best what is wrong when another user asks.
        let identity = try key.read()
        lock = try purpose == .changing ? Self.lock(configuration) : nil
        let platforms = try CommandPlugins(configuration).platforms.catalog
        do {
            let store =
                purpose == .changing
                ? try RegistryStore(path: configuration.storePath)
                : try RegistryStore(reading: configuration.storePath)
            let registry = try Registry(
                store: store,
                identity: identity,
                now: now,
                platforms: platforms,
                accessMode: configuration.access.mode,
                accessRules: configuration.access.rules,
                check: { _ in }
            )
            reader = DeviceReader(
                registry: registry,
                files: OperatorFiles(configuration: configuration),
                configuration: { [configuration = configuration.limited(by: platforms)] in configuration },
                deliveryID: try DeliveryIDs(registry.keys.seeds).id,
                now: now
            )
            operations = DeviceOperations(reader, services: ConfiguredServices(configuration: configuration))
            events = EventOperations(reader, traceIDs: try configuration.traceIDs(registry.keys.seeds))
            users = UserOperations(operations)
        } catch {
            throw OperationFailure.unavailable("\(error)")
        }
    }

    private static func lock(_ configuration: Configuration) throws -> StoreLock {
        do throws(StoreLockError) {
            return try StoreLock(store: configuration.storePath)
        } catch {
            if error.isOfStoreInUse { throw error }
            throw OperationFailure.unavailable(error.description)
        }
    }
}

extension Configuration {
    /// Names the traces of events; nil: no spans are exported.
    package func traceIDs(_ seeds: KeySeeds) throws -> TraceIDs? {
        try tracing.map { try TraceIDs(seed: seeds[.traceIDs], sample: $0.sample) }
    }
}

/// What is read beside the registry to answer operators.
package struct OperatorFiles: Sendable {
    /// Nil: nothing is traced, and what there may be from before is out of date.
    let trace: (reader: TraceReader, limits: TraceLimits)?
    package let outbox: OutboxReaders
    /// How much the outbox is for.
    let mostWaiting: Int
    private let isCause: @Sendable ([UInt8]) -> Bool

    /// `partitions` are those that the router owns, and `isCause` whether one of them has accepted an event lately.
    package init(
        configuration: Configuration,
        partitions: @escaping @Sendable () -> [OutboxReader] = { [] },
        isCause: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }
    ) {
        trace = configuration.trace.map { (TraceReader(path: configuration.tracePath), $0) }
        outbox = OutboxReaders(own: OutboxReader(path: configuration.outboxPath), partitions: partitions)
        mostWaiting = configuration.mostWaiting
        self.isCause = isCause
    }

    /// Whether an event is among those that were accepted lately; false where that cannot be told.
    func wasAccepted(_ event: EventID) -> Bool {
        isCause(event.array) || ((try? outbox.own.isCause(event.array)) ?? false)
    }
}

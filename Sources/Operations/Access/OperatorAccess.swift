import Core
import Delivery
import Foundation
import Nostr
import Observability
import Registry
import RouterConfiguration

/// The access of commands to a router's events and devices through its files, whether or not the router runs.
package struct OperatorAccess {
    package enum Purpose: Sendable {
        /// Allowed while a router runs.
        case reading
        /// Allowed only while no router runs.
        case changing
    }

    let reader: DeviceReader
    package let operations: DeviceOperations
    package let events: EventOperations
    package let users: UserOperations
    /// Keeps routers off the store while this value lives.
    private let lock: StoreLock?

    /// Throws an ``OperationError`` if the files cannot be used for this purpose, and `Diagnostics` for an invalid
    /// key file. Throws `StoreLockError.storeInUse` if a change is intended while a router runs on the files.
    package init(
        _ configuration: Configuration,
        for purpose: Purpose,
        now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) throws {
        let key = IdentityFile(path: configuration.keyFile)
        guard key.exists, FileManager.default.fileExists(atPath: configuration.storePath) else {
            throw OperationError.unreachable(
                "there is no router yet: \(key.exists ? configuration.storePath : configuration.keyFile) is missing. "
                    + "Start carillon serve, which creates it"
            )
        }
        // The key comes first, because its error is the clearest if another user runs the command.
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
            throw OperationError.unavailable("\(error)")
        }
    }

    private static func lock(_ configuration: Configuration) throws -> StoreLock {
        do throws(StoreLockError) {
            return try StoreLock(store: configuration.storePath)
        } catch {
            if error.isOfStoreInUse { throw error }
            throw OperationError.unavailable(error.description)
        }
    }
}

extension Configuration {
    /// Derives the trace IDs of events; nil if no spans are exported.
    package func traceIDs(_ seeds: KeySeeds) throws -> TraceIDs? {
        try tracing.settings.map { try TraceIDs(seed: seeds[.traceIDs], sample: $0.sample) }
    }
}

/// The files that are read, apart from the registry, to answer operators.
package struct OperatorFiles: Sendable {
    /// Nil if the trace is disabled; the files of an earlier trace are out of date.
    let trace: (reader: TraceReader, limits: TraceLimits)?
    /// The running router's trace; nil in commands, and if the trace is disabled.
    private let traceStore: TraceStore?
    package let outbox: OutboxReaders
    /// The capacity of the outbox, in deliveries.
    let maxWaiting: Int
    private let isCause: @Sendable ([UInt8]) -> Bool

    /// `partitions` are those that the router owns. `isCause` returns whether one of them recently accepted an event.
    package init(
        configuration: Configuration,
        trace store: TraceStore? = nil,
        partitions: @escaping @Sendable () -> [OutboxReader] = { [] },
        isCause: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }
    ) {
        traceStore = store
        trace = configuration.trace.map { (TraceReader(path: configuration.tracePath), $0) }
        outbox = OutboxReaders(own: OutboxReader(path: configuration.outboxPath), partitions: partitions)
        maxWaiting = configuration.maxWaiting
        self.isCause = isCause
    }

    /// Writes the router's recent trace entries to the file. Returns whether it has a trace.
    @discardableResult
    func flushTrace() -> Bool {
        traceStore?.flush()
        return traceStore != nil
    }

    /// Runs `body` on a thread that may wait for the disk, after recent trace entries were written.
    func current<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await DiskWork.run {
            flushTrace()
            return try body()
        }
    }

    /// Whether an event was accepted recently; false if unknown.
    func wasAccepted(_ event: EventID) -> Bool {
        isCause(event.array) || ((try? outbox.own.isCause(event.array)) ?? false)
    }
}

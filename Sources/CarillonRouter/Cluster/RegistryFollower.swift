import Cluster
import Dispatch
import Logging
import NATS
import Pipeline
import Registry
import Storage
import Synchronization

/// Takes up what other members write into the cluster's registry: when one says that it did, and now and then.
final class RegistryFollower: Sendable {
    private struct State {
        var news: NATSClient.Subscription?
        var watch: Task<Void, Never>?
        /// A look is ordered and has not begun.
        var willLook = false
    }

    private let parts: PartitionParts
    private let stream: RegistryStream
    private let isCutOff: @Sendable (any Error) -> Void
    private let pause: @Sendable () async throws -> Void
    private let queue = DispatchQueue(label: "carillon.cluster-registry")
    private let trouble: FailureLog
    private let state = Mutex(State())

    /// `pause` waits until the registry is looked at although nobody said that it changed. `isCutOff` is called when
    /// this member is too far behind for the registry's log.
    init(
        _ membership: ClusterMembership,
        _ parts: PartitionParts,
        isCutOff: @escaping @Sendable (any Error) -> Void,
        pause: @escaping @Sendable () async throws -> Void
    ) {
        (self.parts, self.isCutOff, self.pause) = (parts, isCutOff, pause)
        stream = RegistryStream(membership.link.settings.layout, membership.line)
        trouble = FailureLog(
            "The cluster's registry cannot be followed; trying again",
            level: .warning,
            logger: parts.logger
        )
    }

    func start() throws {
        let news = try stream.news { [weak self] in self?.look() }
        let watch = Task { [weak self, pause] in
            while (try? await pause()) != nil { self?.look() }
        }
        state.withLock { ($0.news, $0.watch) = (news, watch) }
    }

    func stop() {
        state.withLock { state in
            state.watch?.cancel()
            (state.news, state.watch) = (nil, nil)
        }
    }

    /// One look is enough for all news that come before it begins.
    func look() {
        let isOrdered = state.withLock { state in
            defer { state.willLook = true }
            return state.willLook
        }
        guard !isOrdered else { return }
        queue.async { [weak self, parts, trouble] in
            self?.state.withLock { $0.willLook = false }
            do {
                try parts.registry.catchUp()
                trouble.passed(at: parts.now())
            } catch let error as RegistryStoreError where error.isCutOff {
                self?.isCutOff(error)
            } catch {
                trouble.occurred(error, at: parts.now())
            }
        }
    }
}

/// The registry's log over JetStream.
struct StreamedRegistryLog: RegistryLog {
    let stream: RegistryStream
    let snapshots: RegistrySnapshots

    init(_ link: ClusterLink, _ line: MemberLine) {
        stream = RegistryStream(link.settings.layout, line)
        snapshots = RegistrySnapshots(link.settings.layout, line)
    }

    func lastPosition() throws -> UInt64 { try snapshots.logState().last }
    func snapshotPosition() throws -> UInt64? { try snapshots.head()?.position }
    func readSnapshot(to file: String) throws -> Bool { try snapshots.read(to: file) }

    func append(_ record: [UInt8], id: String, after position: UInt64) throws -> UInt64? {
        try stream.append(record, id: id, after: position)
    }

    func records(after position: UInt64) throws -> [(position: UInt64, bytes: [UInt8]?)] {
        try stream.records(after: position)
    }
}

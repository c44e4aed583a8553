import CarillonRouter
import Core
import Dispatch
import Logging
import Operations
import Pipeline
import Registry
import Storage
import Synchronization

/// Applies other members' changes of the cluster's registry: when notified, and once a second.
final class RegistryFollower: Sendable {
    private struct State {
        var news: NATSClient.Subscription?
        var watch: Task<Void, Never>?
        /// Whether a check is scheduled and has not started.
        var willLook = false
    }

    private let registry: Registry
    private let stream: RegistryStream
    private let isCutOff: @Sendable (any Error) -> Void
    private let now: @Sendable () -> Timestamp
    private let queue = DispatchQueue(label: "carillon.cluster-registry")
    private let trouble: ErrorLog
    private let state = Mutex(State())

    /// `isCutOff` is called if this member lags so far that the log no longer has the missing changes.
    init(
        _ link: ClusterLink,
        _ parts: OwnerParts,
        isCutOff: @escaping @Sendable (any Error) -> Void
    ) {
        (registry, now, self.isCutOff) = (parts.registry, parts.dependencies.now, isCutOff)
        stream = RegistryStream(link)
        trouble = ErrorLog(
            "The cluster's registry cannot be followed; trying again",
            level: .warning,
            logger: parts.dependencies.logger
        )
    }

    func start() throws {
        let news = try stream.news { [weak self] in self?.look() }
        // A notice may be lost.
        let watch = Task { [weak self] in
            while (try? await Task.sleep(for: .seconds(1))) != nil { self?.look() }
        }
        state.withLock { ($0.news, $0.watch) = (news, watch) }
    }

    func stop() {
        state.withLock { state in
            state.watch?.cancel()
            (state.news, state.watch) = (nil, nil)
        }
    }

    /// Schedules a check. One check covers all notices that arrive before it starts.
    func look() {
        let isOrdered = state.withLock { state in
            defer { state.willLook = true }
            return state.willLook
        }
        guard !isOrdered else { return }
        queue.async { [weak self, registry, now, trouble] in
            self?.state.withLock { $0.willLook = false }
            do {
                try registry.catchUp()
                trouble.passed(at: now())
            } catch let error as RegistryStoreError where error.isCutOff {
                self?.isCutOff(error)
            } catch {
                trouble.occurred(error, at: now())
            }
        }
    }
}

/// Keeps the log of the cluster's registry short: regularly a snapshot replaces older changes. The owner of the first
/// partition writes it.
final class RegistryShortening: Sendable {
    private static let interval = DispatchTimeInterval.seconds(5)

    private let snapshots: RegistrySnapshots
    private let store: RegistryStore
    /// The number of changes after which a snapshot is written.
    private let changes: Int
    private let queue = DispatchQueue(label: "carillon.cluster-snapshots", qos: .utility)
    private let logger: Logger

    init(_ link: ClusterLink, _ store: RegistryStore, logger: Logger) {
        snapshots = RegistrySnapshots(link)
        self.store = store
        changes = link.settings.registryChanges
        self.logger = logger
    }

    /// Checks every few seconds, and writes snapshots while `isHere` returns true. Ends when it returns nil.
    func begin(_ isHere: @escaping @Sendable () -> Bool?) {
        queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in
            guard let self, let here = isHere() else { return }
            if here { shorten() }
            begin(isHere)
        }
    }

    private func shorten() {
        do {
            let log = try snapshots.logState()
            let last = try snapshots.head()?.position ?? 0
            guard log.last > last else { return }
            // Changes since the previous snapshot stay for members that lag, unless the stream lacks space.
            let isTight = log.maxBytes > 0 && log.bytes > UInt64(log.maxBytes) / 2
            guard isTight || log.last - last >= UInt64(changes) else { return }
            let file = SharedFile.path(besides: store.path)
            defer { try? SharedFile.remove(file) }
            let position = try store.writeShared(to: file)
            guard position > last else { return }
            try snapshots.keep(file, at: position, name: "\(DeliveryIDs.fresh())", isShort: isTight)
            logger.info(
                "Replaced older registry changes by a snapshot",
                metadata: ["change": "\(position)"]
            )
        } catch {
            logger.warning("Failed to shorten the log of the cluster's registry", metadata: ["error": "\(error)"])
        }
    }
}

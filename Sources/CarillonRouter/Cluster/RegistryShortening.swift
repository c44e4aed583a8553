import Cluster
import Dispatch
import Logging
import Operations
import Registry

/// Keeps the log of the cluster's registry short: now and then a snapshot takes the place of older changes. The member
/// that owns the first partition writes it.
final class RegistryShortening: Sendable {
    private static let interval = DispatchTimeInterval.seconds(5)

    private let snapshots: RegistrySnapshots
    private let store: RegistryStore
    /// So many changes are worth a snapshot.
    private let changes: Int
    private let queue = DispatchQueue(label: "carillon.cluster-snapshots", qos: .utility)
    private let logger: Logger

    init(_ membership: ClusterMembership, _ store: RegistryStore, logger: Logger) {
        let link = membership.link
        snapshots = RegistrySnapshots(link.settings.layout, membership.line)
        self.store = store
        changes = link.settings.registryChanges
        self.logger = logger
    }

    /// Looks after it as long as `isHere` says; nil: no longer.
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
            // Whoever is behind by less than a snapshot finds what it lacks, unless the stream has no space for that.
            let isTight = log.mostBytes > 0 && log.bytes > UInt64(log.mostBytes) / 2
            guard isTight || log.last - last >= UInt64(changes) else { return }
            let file = SharedFile.path(besides: store.path)
            defer { try? SharedFile.remove(file) }
            let position = try store.writeShared(to: file)
            guard position > last else { return }
            try snapshots.keep(file, at: position, name: "\(DeliveryIDs.fresh())", isShort: isTight)
            logger.info(
                "A snapshot of the registry takes the place of older changes",
                metadata: ["change": "\(position)"]
            )
        } catch {
            logger.warning("The log of the cluster's registry cannot be shortened", metadata: ["error": "\(error)"])
        }
    }
}

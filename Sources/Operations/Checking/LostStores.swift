import Delivery
import Registry
import RouterConfiguration
import Storage

/// A registry that is gone while the outbox that was filled beside it is there: to begin an empty one would be to empty
/// it in silence.
package enum LostRegistry {
    /// Nil when there is a registry, or nothing says that there ever was.
    ///
    /// Throws another `StoreFault` when that cannot be told.
    package static func fault(_ configuration: Configuration) throws -> StoreFault? {
        let (kind, path) = (RegistryStore.kind, configuration.storePath)
        guard try !StoreFile(path: path, kind: kind).exists(), try Outbox.isFilled(at: configuration.outboxPath) else {
            return nil
        }
        return StoreFault(.missingBeside(configuration.outboxPath), in: kind, at: path)
    }
}

/// An outbox that is gone while the registry beside it has devices. Service goes on with an empty one, but not in
/// silence.
package enum LostOutbox {
    /// What to tell the operator; nil when nothing is missing, or when that cannot be told.
    package static func warning(_ configuration: Configuration) -> String? {
        let (kind, path) = (Outbox.kind, configuration.outboxPath)
        guard (try? StoreFile(path: path, kind: kind).exists()) == false,
            let registry = try? RegistrySummary(path: configuration.storePath), registry.hasDevices
        else { return nil }
        return "\(kind.name) \(path) is missing beside a registry with devices: a start begins an empty one, which "
            + "\(kind.costOfLoss). If it was moved, put it back before the start"
    }
}

import Delivery
import Registry
import RouterConfiguration
import Storage

/// A registry that is gone while the outbox that was filled beside it is there: to begin an empty one would be to empty it in
/// silence.
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

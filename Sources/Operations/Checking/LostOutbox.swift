import Delivery
import Registry
import RouterConfiguration
import Storage

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

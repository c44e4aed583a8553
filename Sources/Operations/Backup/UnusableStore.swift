import Backup
import Foundation
import RouterConfiguration

/// A store that no router may serve: it lives elsewhere now, or was not put there as a whole.
package struct UnusableStore: Error, CustomStringConvertible {
    package let description: String

    /// Nil when nothing stands against serving it.
    package init?(_ configuration: Configuration) {
        let store = configuration.storePath
        let staging = StagedStore.folder(of: store)
        if let destination = RetiredStore(store: store).destination {
            description =
                "store.path: \(store) was moved to \(destination), and both would push everything. Serve that one; or, where "
                + "nothing serves it, remove \(RetiredStore.marker(of: store))"
        } else if FileManager.default.fileExists(atPath: staging) {
            description =
                "store.path: putting \(store) in place was interrupted: run carillon backup restore or store migrate again, or "
                + "remove \(staging)"
        } else {
            return nil
        }
    }
}

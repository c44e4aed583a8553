import GRDB
import Storage

/// What a registry's file says of itself at a glance, also while a router runs on it. Changes nothing.
package struct RegistryGlance: Sendable {
    /// The public key that it was made for, in hexadecimal digits; nil: nobody's yet.
    package let owner: String?
    package let hasDevices: Bool

    /// Nil when there is no file. Throws a `StoreFault` when that cannot be told, or when it is no registry.
    package init?(path: String) throws {
        let file = StoreFile(path: path, kind: RegistryStore.kind)
        guard try file.exists() else { return nil }
        (owner, hasDevices) = try file.reading { database in
            (
                try String.fetchOne(database, sql: "SELECT value FROM meta WHERE name = 'identity'"),
                try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM devices)") ?? false
            )
        }
    }
}

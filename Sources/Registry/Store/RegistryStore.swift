import GRDB
import Nostr
import Notifications
import Storage

/// The registry on disk: one SQLite database.
///
/// Every transaction is on the disk when it returns. Opening throws a `StoreFault` for a damaged database, another
/// program's and one that a newer version wrote, and changes none of them.
package final class RegistryStore: Sendable {
    package static let kind = StoreKind(
        name: "the registry",
        costOfLoss: "forgets every device until its app registers again",
        migrator: RegistrySchema.migrator,
        mend: RegistrySchema.mend
    )

    package let path: String
    private let pool: DatabasePool
    private let watch: DamageWatch
    /// Whether it was opened to look at and not to change.
    let isForReading: Bool

    /// Opens or creates the database at `path`, readable by this user only. `damaged` is called once if it turns out
    /// damaged later; nothing is written to it from then on.
    package init(path: String, damaged: @escaping @Sendable (StoreFault) -> Void = { _ in }) throws {
        self.path = path
        let file = StoreFile(path: path, kind: Self.kind)
        watch = DamageWatch(file, report: damaged)
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        configuration.label = "carillon registry"
        pool = try file.open(configuration)
        isForReading = false
    }

    /// Opens the database of a router that may be running, and changes nothing in it. Throws a `StoreFault` when there
    /// is none, and for what cannot be used.
    package init(reading path: String) throws {
        self.path = path
        let file = StoreFile(path: path, kind: Self.kind)
        watch = DamageWatch(file) { _ in }
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        configuration.label = "carillon registry, read"
        pool = try file.openForReading(configuration)
        isForReading = true
    }

    /// The damage that was met since it was opened; nil while all is well.
    package var damage: StoreFault? { watch.damage }

    /// Makes `identity` the owner of a registry that has none, and opens its keys. If the owner's key is being changed
    /// and `identity` is the next one, it is the owner from now on.
    ///
    /// Throws a ``RegistryStoreError`` when another key is the owner.
    @discardableResult
    func claim(for identity: KeyPair) throws -> OwnKeys {
        let key = identity.publicKey
        let (owner, table) =
            isForReading
            ? try read { rows in
                let table = try rows.routerKeys().completed(by: key)
                return (try table.current?.key.hex ?? rows.owner(), table)
            }
            : try write { rows in
                let former = try rows.routerKeys()
                let table = former.completed(by: key)
                if former.next?.key == key { try rows.put(table) }
                return (try rows.claim(for: key.hex), table)
            }
        guard owner == key.hex else { throw RegistryStoreError.anotherIdentity(path: path) }
        return try OwnKeys(table, identity: identity, path: path)
    }

    /// Copies the log into the file, so that the file alone is the whole registry. For the end of an orderly stop;
    /// where the disk does not take it, the log stays and nothing is lost.
    package func settle() {
        _ = try? watch.writing { try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }
    }

    /// Runs `body` in one transaction, and `afterwards` once it is on disk and before any other write.
    package func write<Value>(
        _ body: (RegistryRows) throws -> Value,
        afterwards: (Value) -> Void = { _ in }
    ) throws -> Value {
        try watch.writing {
            try pool.writeWithoutTransaction { db in
                var value: Value?
                try db.inTransaction(.immediate) {
                    value = try body(RegistryRows(db))
                    return .commit
                }
                guard let value else { throw StoreFault(.notDurable, in: Self.kind, at: path) }
                afterwards(value)
                return value
            }
        }
    }

    /// Runs `body` beside writers, on one consistent state.
    package func read<Value>(_ body: (RegistryRows) throws -> Value) throws -> Value {
        try watch.reading { try pool.read { try body(RegistryRows($0)) } }
    }

    /// Runs one statement beside writers. Cheaper than ``read(_:)``, and not for more than one.
    func readOnce<Value>(_ body: (RegistryRows) throws -> Value) throws -> Value {
        try watch.reading { try pool.unsafeRead { try body(RegistryRows($0)) } }
    }
}

/// Why what the registry holds cannot be used, though its database can.
package struct RegistryStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    private enum Code: Hashable {
        case anotherIdentity(path: String)
        case unreadableSeal(DeviceID)
        case unreadableEvent
        case unreadableKeys
        case tooManyRoutes
    }

    private let code: Code

    private init(_ code: Code) {
        self.code = code
    }

    static func anotherIdentity(path: String) -> RegistryStoreError { RegistryStoreError(.anotherIdentity(path: path)) }
    static func unreadableSeal(_ device: DeviceID) -> RegistryStoreError { RegistryStoreError(.unreadableSeal(device)) }
    static let unreadableEvent = RegistryStoreError(.unreadableEvent)
    static let unreadableKeys = RegistryStoreError(.unreadableKeys)
    static let tooManyRoutes = RegistryStoreError(.tooManyRoutes)

    package var description: String {
        switch code {
        case .anotherIdentity(let path):
            "the registry \(path) belongs to another identity: use the key file it was made with, or begin an empty one"
        case .unreadableSeal(let device):
            "the registry's secrets of device \(device.rawValue) are damaged: the device has to register again"
        case .unreadableEvent:
            "an event that the registry keeps cannot be read: its author has to publish it again"
        case .unreadableKeys:
            "what the registry is sealed with is damaged: restore a backup"
        case .tooManyRoutes:
            "the registry holds more combinations of platform and app than it can number"
        }
    }
}

import Nostr
import Push

/// The changes of a transaction, for all in-memory state that follows it.
struct RegistryChanges {
    var index: [IndexChange] = []
    /// Keys whose data for account watch changed, such as relays or partners.
    var keys: Set<PublicKey> = []
    /// Codes to push.
    var codes: [TargetCodeRequest] = []

    /// The devices that changed or were removed.
    var devices: [DeviceID] {
        index.compactMap { change in
            switch change {
            case .put(let device): device.device
            case .remove(let device, _): device
            case .messageKeys: nil
            }
        }
    }

    /// The accounts that lost a device, perhaps their last one.
    var leftAccounts: [PublicKey] {
        index.compactMap { if case .remove(_, let account) = $0 { account } else { nil } }
    }
}

/// Runs each change of the registry in one transaction, and then informs caches, the index and the listeners.
final class RegistryWriter: Sendable {
    private let store: RegistryStore
    private let secrets: DeviceSecrets
    private let lists: AccountLists
    private let indexes: IndexFeeds
    private let changed: @Sendable (Set<PublicKey>) -> Void
    private let pushCode: @Sendable (TargetCodeRequest) -> Void

    init(
        store: RegistryStore,
        secrets: DeviceSecrets,
        lists: AccountLists,
        indexes: IndexFeeds,
        changed: @escaping @Sendable (Set<PublicKey>) -> Void,
        pushCode: @escaping @Sendable (TargetCodeRequest) -> Void
    ) {
        self.store = store
        self.secrets = secrets
        self.lists = lists
        self.indexes = indexes
        self.changed = changed
        self.pushCode = pushCode
    }

    /// `first` is called once the change is on disk, before anything else learns of it.
    func change<Value>(
        _ body: (RegistryRows, inout RegistryChanges) throws -> Value,
        first: (Value) -> Void = { _ in }
    ) throws -> Value {
        let (value, changes) = try store.write { rows in
            var changes = RegistryChanges()
            let value = try body(rows, &changes)
            rows.recorder?.note(changes)
            return (value, changes)
        } afterwards: {
            let changes = $0.1
            first($0.0)
            secrets.forget(changes.devices)
            lists.forget(changes.leftAccounts)
            indexes.post(changes.index)
        }
        report(changes.keys)
        for code in changes.codes { pushCode(code) }
        return value
    }

    /// Updates the state in memory after a change of another member, which is already on disk.
    func follow(_ index: [IndexChange]) {
        // The record does not name the other devices and lists it touched.
        secrets.forgetAll()
        lists.forgetAll()
        indexes.post(index)
    }

    /// Reports keys that changed outside a transaction.
    func report(_ keys: Set<PublicKey>) {
        if !keys.isEmpty { changed(keys) }
    }
}

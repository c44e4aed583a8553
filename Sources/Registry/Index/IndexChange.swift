import Core
import Nostr
import Push
import Synchronization

/// A change that the owner of a ``MatchIndex`` has to apply after the registry changed.
package enum IndexChange: Hashable, Sendable {
    case put(IndexedDevice)
    case remove(DeviceID, of: PublicKey)
    /// These keys, and no others besides its own, are the account's to receive messages under.
    case messageKeys([MessageKey], of: PublicKey)

    var account: PublicKey {
        switch self {
        case .put(let device): device.account
        case .remove(_, let account), .messageKeys(_, let account): account
        }
    }
}

/// A device as the registry describes it to an index.
package struct IndexedDevice: Hashable, Sendable {
    package var account: PublicKey
    package var device: DeviceID
    package var firstRegisteredAt: Timestamp
    /// The bits of the well-known signals.
    package var signals: SignalSet
    /// The other signals it wants; the index assigns their bits.
    package var furtherSignals: [Signal]
    package var mode: Mode?
    /// The owner's language; the index chooses the nearest of the rules' languages.
    package var locale: LanguageTag?
    package var hasSealingKey = false
    package var route: Route
    package var routeID: RouteID
    package var preferences = DevicePreferences()
    /// Whether it was registered on another platform, for another app or with another token before.
    package var isElsewhere = false
}

/// Carries changes from any thread to the one that owns the index.
///
/// The index is read for every event and belongs to that thread alone, without a lock; couriers, which find out that a
/// device is gone, run on others.
final class IndexMailbox: Sendable {
    private let changes = Mutex<[IndexChange]>([])
    /// Read before the lock is taken: the owner looks in here between any two batches of events.
    private let isFilled = Atomic(false)
    /// Whether anything was posted that the owner has not applied yet.
    private let isAwaited = Atomic(false)

    func post(_ new: [IndexChange]) {
        guard !new.isEmpty else { return }
        changes.withLock {
            $0.append(contentsOf: new)
            isFilled.store(true, ordering: .releasing)
            isAwaited.store(true, ordering: .releasing)
        }
    }

    /// Whether the index lacks something that was posted. Any thread.
    var isBehind: Bool { isAwaited.load(ordering: .acquiring) }

    /// Everything that was taken is applied, wherever it counts.
    func applied() {
        guard isBehind else { return }
        changes.withLock { if $0.isEmpty { isAwaited.store(false, ordering: .releasing) } }
    }

    func take() -> [IndexChange] {
        guard isFilled.load(ordering: .acquiring) else { return [] }
        return changes.withLock { changes in
            isFilled.store(false, ordering: .releasing)
            defer { changes = [] }
            return changes
        }
    }
}

/// The changes that one index wants: of all accounts, or of those of a partition. It gets them as long as somebody
/// holds it.
package final class IndexFeed: Sendable {
    fileprivate let mailbox = IndexMailbox()
    /// Nil: all accounts.
    let partition: UInt8?
    private let isIncluded: (@Sendable (PublicKey) -> Bool)?

    /// Of all accounts.
    package init() { (partition, isIncluded) = (nil, nil) }

    /// Of the accounts in a partition, which `isIncluded` says of each.
    package init(of partition: UInt8, _ isIncluded: @escaping @Sendable (PublicKey) -> Bool) {
        (self.partition, self.isIncluded) = (partition, isIncluded)
    }

    func includes(_ account: PublicKey) -> Bool { isIncluded?(account) ?? true }

    func take() -> [IndexChange] { mailbox.take() }

    /// Whether the registry changed in a way that the index does not have yet. Any thread, without a lock.
    package var isBehind: Bool { mailbox.isBehind }

    func applied() { mailbox.applied() }

    fileprivate func post(_ changes: [IndexChange]) {
        guard isIncluded != nil else { return mailbox.post(changes) }
        mailbox.post(changes.filter { includes($0.account) })
    }
}

/// Everybody who follows the changes of the registry with an index.
final class IndexFeeds: Sendable {
    private struct Entry {
        weak var feed: IndexFeed?
    }

    private let entries = Mutex<[Entry]>([])

    func add(_ feed: IndexFeed) {
        entries.withLock { entries in
            entries.removeAll { $0.feed == nil || $0.feed === feed }
            entries.append(Entry(feed: feed))
        }
    }

    func post(_ changes: [IndexChange]) {
        guard !changes.isEmpty else { return }
        for feed in entries.withLock({ $0.compactMap(\.feed) }) { feed.post(changes) }
    }
}

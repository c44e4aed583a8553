import Core
import Nostr
import Push
import Synchronization

/// A change that the owner of a ``MatchIndex`` has to apply after the registry changed.
package enum IndexChange: Hashable, Sendable {
    case put(IndexedDevice)
    case remove(DeviceID, of: PublicKey)
    /// The complete set of additional keys that the account receives messages under.
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

/// A queue of changes from any thread to the thread that owns an index.
///
/// The owner reads the index for every event without a lock. Couriers, which detect devices that are gone, run on other
/// threads.
final class IndexMailbox: Sendable {
    private let changes = Mutex<[IndexChange]>([])
    /// Whether there are changes to take. Read without the lock, since the owner checks after every batch of events.
    private let isFilled = Atomic(false)
    /// Whether the owner has not applied all posted changes yet.
    private let isAwaited = Atomic(false)

    func post(_ new: [IndexChange]) {
        guard !new.isEmpty else { return }
        changes.withLock {
            $0.append(contentsOf: new)
            isFilled.store(true, ordering: .releasing)
            isAwaited.store(true, ordering: .releasing)
        }
    }

    /// Whether posted changes are not applied to the index yet. Callable from any thread.
    var isBehind: Bool { isAwaited.load(ordering: .acquiring) }

    /// Notes that all changes taken so far are applied, to the index and to all state that follows it.
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

/// The changes for one index: of all accounts, or of the accounts in one partition. Delivers changes while a reference
/// to it exists.
package final class IndexFeed: Sendable {
    fileprivate let mailbox = IndexMailbox()
    /// Nil: all accounts.
    let partition: UInt8?
    private let isIncluded: (@Sendable (PublicKey) -> Bool)?

    /// Creates a feed of all accounts.
    package init() { (partition, isIncluded) = (nil, nil) }

    /// Creates a feed of the accounts in a partition. `isIncluded` returns whether an account belongs to it.
    package init(of partition: UInt8, _ isIncluded: @escaping @Sendable (PublicKey) -> Bool) {
        (self.partition, self.isIncluded) = (partition, isIncluded)
    }

    func includes(_ account: PublicKey) -> Bool { isIncluded?(account) ?? true }

    func take() -> [IndexChange] { mailbox.take() }

    /// Whether the registry has changes that the index lacks. Callable from any thread, without a lock.
    package var isBehind: Bool { mailbox.isBehind }

    func applied() { mailbox.applied() }

    fileprivate func post(_ changes: [IndexChange]) {
        guard isIncluded != nil else { return mailbox.post(changes) }
        mailbox.post(changes.filter { includes($0.account) })
    }
}

/// All feeds that follow changes of the registry.
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

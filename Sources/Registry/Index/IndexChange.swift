import Nostr
import Notifications
import Synchronization
import Units

/// A change that the owner of a ``MatchIndex`` has to apply after the registry changed.
package enum IndexChange: Hashable, Sendable {
    case put(IndexedDevice)
    case remove(DeviceID, of: PublicKey)
    /// These keys, and no others besides its own, are the account's to receive messages under.
    case messageKeys([MessageKey], of: PublicKey)
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

    func post(_ new: [IndexChange]) {
        guard !new.isEmpty else { return }
        changes.withLock {
            $0.append(contentsOf: new)
            isFilled.store(true, ordering: .releasing)
        }
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

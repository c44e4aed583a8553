import Synchronization

/// Carries changes from whoever makes them to the one thread that owns the index.
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

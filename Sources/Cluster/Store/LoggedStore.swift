import Core
import Delivery
import Dispatch
import GRDB
import Push
import Synchronization

/// The outbox of a partition that this member owns. Every transaction is written to the partition's log first; the
/// queue is an in-memory outbox, built from the log's state at the takeover.
///
/// An insertion is complete when the log has acknowledged it. Results are logged without waiting: if a crash loses
/// some, their pushes are sent again under the same ID.
final class LoggedStore: DeliveryStore {
    private struct State {
        /// The log's number of each delivery, by its sequence in the outbox.
        var numbers: [Int64: Int64] = [:]
        /// The number of the first delivery of each commit that was acknowledged during an insertion.
        var acknowledged: [UInt64: Int64] = [:]
        var isInserting = false
        var isClosed = false
    }

    /// Deliveries from the log are inserted into the outbox in portions of this size.
    private static let portion = 1_000
    /// The maximum of dead letters that are requeued or dropped in one transaction.
    private static let lettersAtOnce = 100

    let outbox: Outbox
    private let deadLetters: DeadLetterLimits
    private let commit: @Sendable (LogTransaction) throws(PartitionLogError) -> UInt64
    private let state = Mutex(State())
    /// Serializes insertions, so that deliveries have the same order here and in the log.
    private let inserting = Mutex(())
    private let news = DispatchSemaphore(value: 0)

    /// Loads a partition's queue. `commit` queues a transaction for its log; call ``committed(_:)`` when it is stored.
    init(
        _ partition: PartitionState,
        limit: Int,
        deadLetters: DeadLetterLimits = DeadLetterLimits(),
        commit: @escaping @Sendable (LogTransaction) throws(PartitionLogError) -> UInt64
    ) throws {
        self.commit = commit
        self.deadLetters = deadLetters
        outbox = try Outbox(DatabaseQueue(), limit: limit, deadLetters: deadLetters)
        try outbox.insert([], causes: [], pace: partition.storedPaces) { _ in }
        try restore(partition.storedLetters)
        let numbers = partition.waiting.keys.sorted()
        for start in stride(from: 0, to: numbers.count, by: Self.portion) {
            let portion = numbers[start..<min(start + Self.portion, numbers.count)]
            let entries = portion.compactMap { number in partition.waiting[number].map { (number, $0) } }
            var changes = OutboxChanges()
            try outbox.insert(entries.map(\.1.delivery)) { stored in
                state.withLock { state in
                    for ((number, _), stored) in zip(entries, stored) { state.numbers[stored.key.sequence] = number }
                }
                for ((_, entry), stored) in zip(entries, stored) {
                    guard let due = entry.due else { continue }
                    changes.reschedulings.append(
                        OutboxChanges.Rescheduling(
                            key: stored.key,
                            due: due,
                            attempts: entry.attempts,
                            failure: entry.failure
                        )
                    )
                }
            }
            try outbox.apply(changes)
        }
    }

    /// Restores the log's dead letters in the outbox.
    private func restore(_ letters: [PartitionState.DeadLetter]) throws {
        guard !letters.isEmpty else { return }
        var changes = OutboxChanges()
        try outbox.insert(letters.map(\.delivery)) { stored in
            changes.removals = stored.map(\.key)
            changes.newDeadLetters = zip(letters, stored).map { letter, stored in
                OutboxChanges.NewDeadLetter(
                    key: stored.key,
                    failure: letter.failure,
                    failedAt: letter.failedAt,
                    attempts: letter.attempts
                )
            }
        }
        try outbox.apply(changes)
    }

    // MARK: Acknowledgements of the log

    /// Takes transactions that the log has stored.
    func committed(_ commits: [PartitionLog.Commit]) {
        let isAwaited = state.withLock { state in
            if state.isInserting {
                for commit in commits { state.acknowledged[commit.number] = commit.firstDelivery }
            }
            return state.isInserting
        }
        if isAwaited { news.signal() }
    }

    /// Closes the store, because this member no longer owns the partition. Waiting insertions fail.
    func close() {
        state.withLock { $0.isClosed = true }
        news.signal()
    }

    // MARK: Insertions

    func insert(
        _ deliveries: [Delivery],
        causes: [[UInt8]],
        pace: PaceChanges,
        handOver: ([StoredDelivery]) -> Void
    ) throws {
        var transaction = LogTransaction()
        (transaction.deliveries, transaction.causes, transaction.pace) = (deliveries, causes, pace)
        guard !transaction.isEmpty else { return }
        try inserting.withLock { _ in try insert(transaction, handOver) }
    }

    private func insert(_ transaction: LogTransaction, _ handOver: ([StoredDelivery]) -> Void) throws {
        let first: Int64
        do throws(PartitionLogError) {
            first = try keep(transaction)
        } catch {
            guard case .tooLong = error, let (one, other) = transaction.halves else { throw error }
            // If only the first part is stored, the event is retried and its pushes are repeated under their IDs.
            try insert(one, handOver)
            return try insert(other, handOver)
        }
        try outbox.insert(transaction.deliveries, causes: [], pace: transaction.pace) { stored in
            state.withLock { state in
                for (offset, stored) in stored.enumerated() {
                    state.numbers[stored.key.sequence] = first + Int64(offset)
                }
            }
            handOver(stored)
        }
    }

    /// Waits until the log has the transaction. Returns the number of its first delivery.
    private func keep(_ transaction: LogTransaction) throws(PartitionLogError) -> Int64 {
        state.withLock { $0.isInserting = true }
        defer { state.withLock { ($0.isInserting, $0.acknowledged) = (false, [:]) } }
        let number = try commit(transaction)
        while true {
            let (first, isClosed) = state.withLock { ($0.acknowledged[number], $0.isClosed) }
            if let first { return first }
            guard !isClosed else { throw .notOpen }
            news.wait()
        }
    }

    // MARK: Outcomes

    func apply(_ changes: OutboxChanges) throws {
        guard !changes.isEmpty else { return }
        var transaction = LogTransaction()
        transaction.changes = state.withLock { state in
            guard !state.isClosed else { return OutboxChanges() }
            let logged = changes.mappingKeys { key in state.numbers[key.sequence].map { OutboxKey(number: $0) } }
            for key in changes.removals { state.numbers[key.sequence] = nil }
            return logged
        }
        // If the log is closed and rejects the changes, the next owner sends those pushes again.
        if !transaction.isEmpty { try? record(transaction) }
        try outbox.apply(changes)
    }

    private func record(_ transaction: LogTransaction) throws(PartitionLogError) {
        do throws(PartitionLogError) {
            _ = try commit(transaction)
        } catch {
            guard case .tooLong = error, let (one, other) = transaction.halves else { throw error }
            try record(one)
            try record(other)
        }
    }

    // MARK: Queued deliveries

    func firstTries(of queue: Int, after: OutboxKey, limit: Int) throws -> OutboxPage {
        try outbox.firstTries(of: queue, after: after, limit: limit)
    }

    func retries(of queue: Int, from place: RetryPlace, limit: Int) throws -> OutboxPage {
        try outbox.retries(of: queue, from: place, limit: limit)
    }
}

/// The partition's dead letters. The log identifies them by delivery ID, because each owner's outbox numbers them
/// differently.
extension LoggedStore {
    /// Reads the partition's outbox for operators.
    var reader: OutboxReader { OutboxReader(of: outbox) }

    func requeue(
        _ letters: [DeadLetterNumber],
        at now: Timestamp,
        handOver: ([StoredDelivery]) -> Void
    ) throws -> Int {
        try inserting.withLock { _ in
            var requeued = 0
            for portion in Self.portions(of: letters) {
                var transaction = LogTransaction()
                transaction.deliveries = try outbox.deadLetters(portion, at: now)
                guard !transaction.isEmpty else { continue }
                transaction.letters = transaction.deliveries.map(\.id)
                try insert(transaction, handOver)
                _ = try outbox.removeDeadLetters(portion)
                requeued += transaction.deliveries.count
            }
            return requeued
        }
    }

    func removeDeadLetters(_ letters: [DeadLetterNumber]) throws -> Int {
        try inserting.withLock { _ in
            var removed = 0
            for portion in Self.portions(of: letters) {
                var transaction = LogTransaction()
                transaction.letters = try outbox.deadLetterIDs(portion)
                guard !transaction.isEmpty else { continue }
                try insert(transaction) { _ in }
                removed += try outbox.removeDeadLetters(portion)
            }
            return removed
        }
    }

    func pruneDeadLetters(at now: Timestamp, isRegistered: (DeviceID) throws -> Bool) throws {
        var selection = QueueSelection()
        selection.isWaitingWanted = false
        // The store keeps at most this many.
        let letters = try reader.entries(selection, limit: max(1, deadLetters.rows))
        let oldest = deadLetters.isOn ? now - .days(deadLetters.days) : .distantFuture
        let gone = try letters.filter { entry in
            try entry.failedAt.map { $0 < oldest } ?? false || !isRegistered(entry.device)
        }
        _ = try removeDeadLetters(gone.compactMap(\.letter))
    }

    private static func portions(of letters: [DeadLetterNumber]) -> [[DeadLetterNumber]] {
        stride(from: 0, to: letters.count, by: lettersAtOnce).map {
            Array(letters[$0..<min($0 + lettersAtOnce, letters.count)])
        }
    }
}

extension LogTransaction {
    /// Two transactions equivalent to this one; nil if it cannot be divided. Deliveries come before the marks that
    /// prevent duplicates of their events.
    var halves: (LogTransaction, LogTransaction)? {
        var (one, other) = (LogTransaction(), LogTransaction())
        if !changes.isEmpty {
            guard let (first, second) = changes.halves else { return nil }
            (one.changes, other.changes) = (first, second)
            return (one, other)
        }
        if !deliveries.isEmpty, !causes.isEmpty || !pace.isEmpty || !letters.isEmpty {
            one.deliveries = deliveries
            (other.causes, other.pace, other.letters) = (causes, pace, letters)
            return (one, other)
        }
        if causes.isEmpty, pace.isEmpty, letters.count > 1 {
            (one.letters, other.letters) = letters.halves
            return (one, other)
        }
        if deliveries.isEmpty, !pace.members.isEmpty || !pace.removed.isEmpty || !pace.withdrawn.isEmpty {
            (one.pace, other) = (pace.ofMembers, self)
            (other.pace.forgotten, other.pace.removed, other.pace.members, other.pace.withdrawn) = ([], [], [], [])
            guard other.isEmpty else { return (one, other) }
            if !pace.removed.isEmpty, !pace.members.isEmpty {
                one.pace.members = []
                other.pace.members = pace.members
            } else {
                (one.pace.removed, other.pace.removed) = pace.removed.halves
                (one.pace.members, other.pace.members) = pace.members.halves
                (one.pace.withdrawn, other.pace.withdrawn) = pace.withdrawn.halves
            }
            return one.isEmpty || other.isEmpty ? nil : (one, other)
        }
        guard deliveries.count + causes.count + pace.rows.count + pace.held.count + pace.released.count > 1 else {
            return nil
        }
        (one.deliveries, other.deliveries) = deliveries.halves
        one.pace.forgotten = pace.forgotten
        (one.pace.rows, other.pace.rows) = pace.rows.halves
        (one.pace.held, other.pace.held) = pace.held.halves
        other.pace.released = pace.released
        other.causes = causes
        if one.isEmpty { (one.causes, other.causes) = causes.halves }
        if one.isEmpty { (one.pace.released, other.pace.released) = pace.released.halves }
        return one.isEmpty || other.isEmpty ? nil : (one, other)
    }
}

extension PaceChanges {
    /// The changes of held events and deletions. They are applied before those of their groups.
    fileprivate var ofMembers: PaceChanges {
        var changes = PaceChanges()
        (changes.forgotten, changes.removed, changes.members) = (forgotten, removed, members)
        changes.withdrawn = withdrawn
        return changes
    }
}

extension OutboxChanges {
    /// Two parts, in the order in which they must be applied.
    fileprivate var halves: (OutboxChanges, OutboxChanges)? {
        var (one, other) = (self, self)
        one.removals = []
        one.ends = []
        (other.reschedulings, other.immediateRetries, other.newDeadLetters, other.forgotten) = ([], [], [], [])
        if !one.isEmpty || !one.newDeadLetters.isEmpty, !other.isEmpty { return (one, other) }
        if !other.ends.isEmpty, !other.removals.isEmpty {
            one.ends = ends
            other.ends = []
            return (one, other)
        }
        (one, other) = (OutboxChanges(), OutboxChanges())
        (one.reschedulings, other.reschedulings) = reschedulings.halves
        (one.immediateRetries, other.immediateRetries) = immediateRetries.halves
        (one.newDeadLetters, other.newDeadLetters) = newDeadLetters.halves
        (one.forgotten, other.forgotten) = forgotten.halves
        (one.ends, other.ends) = ends.halves
        (one.removals, other.removals) = removals.halves
        return one.isEmpty || other.isEmpty ? nil : (one, other)
    }

    /// The changes with other keys. Entries for which `key` returns nil are omitted.
    fileprivate func mappingKeys(_ key: (OutboxKey) -> OutboxKey?) -> OutboxChanges {
        var mapped = self
        mapped.removals = removals.compactMap(key)
        mapped.newDeadLetters = newDeadLetters.compactMap { newDeadLetter in
            key(newDeadLetter.key).map {
                NewDeadLetter(
                    key: $0,
                    failure: newDeadLetter.failure,
                    failedAt: newDeadLetter.failedAt,
                    attempts: newDeadLetter.attempts
                )
            }
        }
        mapped.reschedulings = reschedulings.compactMap { change in
            key(change.key).map {
                Rescheduling(key: $0, due: change.due, attempts: change.attempts, failure: change.failure)
            }
        }
        mapped.immediateRetries = immediateRetries.compactMap { change in
            key(change.key).map { RetryPlace(due: change.due, key: $0) }
        }
        return mapped
    }
}

extension Array {
    fileprivate var halves: ([Element], [Element]) {
        (Array(prefix((count + 1) / 2)), Array(dropFirst((count + 1) / 2)))
    }
}

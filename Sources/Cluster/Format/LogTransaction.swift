import Core
import Delivery
import Push

/// An atomic change of a partition: an insertion into its outbox, removals of dead letters, and outcomes, in this
/// order.
///
/// Deliveries are numbered in the order of their insertion into the partition. Keys in ``changes`` are these numbers:
/// their queue is 0.
struct LogTransaction: Equatable, Sendable {
    var pace = PaceChanges()
    var deliveries: [Delivery] = []
    /// IDs of the events behind the deliveries, 32 bytes each.
    var causes: [[UInt8]] = []
    /// The dead letters to remove, by delivery ID. A requeued one is also among ``deliveries``.
    var letters: [DeliveryID] = []
    var changes = OutboxChanges()

    var isEmpty: Bool {
        pace.isEmpty && deliveries.isEmpty && causes.isEmpty && letters.isEmpty && changes.isEmpty
    }
}

/// The encoded form of a transaction in a record.
struct EncodedTransaction: Sendable {
    let bytes: [UInt8]

    init(_ transaction: LogTransaction) {
        let table = SharedTable(transaction.deliveries)
        var writer = BlobWriter(capacity: 64 + (table.blobs.isEmpty ? 256 : 80) * transaction.deliveries.count)
        writer.write(table)
        writer.write(transaction, sharing: table)
        bytes = writer.bytes
    }
}

extension OutboxKey {
    /// The key of a delivery in a partition's log.
    init(number: Int64) { self.init(queue: 0, sequence: number) }

    static let numberRange: ClosedRange<Int64> = 0...(1 << 44 - 1)
}

// MARK: Writing

extension BlobWriter {
    mutating func write(_ transaction: LogTransaction, sharing table: SharedTable) {
        write(transaction.pace)
        write(Array(transaction.deliveries.enumerated())) { writer, delivery in
            writer.write(delivery.element, sharing: table, at: delivery.offset)
        }
        write(transaction.causes) { $0.write(fixed: $1) }
        write(transaction.letters) { $0.write($1) }
        write(transaction.changes)
    }

    private mutating func write(_ pace: PaceChanges) {
        write(pace.forgotten) { $0.write(signed: $1.rawValue) }
        write(pace.rows) { $0.write($1) }
        write(pace.held) { $0.write($1) }
        write(pace.released) { $0.write(signed: $1.rawValue) }
        write(pace.removed) { $0.write(signed: $1.rawValue) }
        write(pace.members) { $0.write($1) }
        write(pace.withdrawn) { $0.write($1) }
    }

    private mutating func write(_ changes: OutboxChanges) {
        write(changes.removals) { $0.write(signed: $1.sequence) }
        write(changes.newDeadLetters) { writer, newDeadLetter in
            writer.write(signed: newDeadLetter.key.sequence)
            writer.write(newDeadLetter.failure)
            writer.write(newDeadLetter.failedAt)
            writer.write(signed: Int64(newDeadLetter.attempts))
        }
        write(changes.reschedulings) { writer, change in
            writer.write(signed: change.key.sequence)
            writer.write(change.due)
            writer.write(signed: Int64(change.attempts))
            writer.write(change.failure) { $0.write($1) }
        }
        write(changes.immediateRetries) { writer, change in
            writer.write(signed: change.key.sequence)
            writer.write(change.due)
        }
        write(changes.forgotten) { $0.write(signed: $1.rawValue) }
        write(changes.ends) { writer, end in
            writer.write(signed: end.device.rawValue)
            writer.write(end.delivery)
            writer.write(flag: end.counts)
            writer.write(flag: end.stopsBlocking)
            writer.write(end.moment)
        }
    }
}

// MARK: Reading

extension BlobReader {
    mutating func transaction() throws(BlobError) -> LogTransaction {
        let shared = try sharedNotifications()
        var transaction = LogTransaction()
        transaction.pace = try paceChanges()
        transaction.deliveries = try list { reader throws(BlobError) in try reader.delivery(sharing: shared) }
        transaction.causes = try list { reader throws(BlobError) in try reader.fixed(32) }
        transaction.letters = try list { reader throws(BlobError) in try reader.deliveryID() }
        transaction.changes = try outboxChanges()
        return transaction
    }

    private mutating func paceChanges() throws(BlobError) -> PaceChanges {
        var pace = PaceChanges()
        pace.forgotten = try list { reader throws(BlobError) in try reader.device() }
        pace.rows = try list { reader throws(BlobError) in try reader.paceRow() }
        pace.held = try list { reader throws(BlobError) in try reader.heldRow() }
        pace.released = try list { reader throws(BlobError) in HeldKey(rawValue: try reader.signed()) }
        pace.removed = try list { reader throws(BlobError) in HeldMemberKey(rawValue: try reader.signed()) }
        pace.members = try list { reader throws(BlobError) in try reader.heldMember() }
        pace.withdrawn = try list { reader throws(BlobError) in try reader.withdrawal() }
        return pace
    }

    private mutating func outboxChanges() throws(BlobError) -> OutboxChanges {
        var changes = OutboxChanges()
        changes.removals = try list { reader throws(BlobError) in try reader.key() }
        changes.newDeadLetters = try list { reader throws(BlobError) in
            OutboxChanges.NewDeadLetter(
                key: try reader.key(),
                failure: try reader.failure(),
                failedAt: try reader.moment(),
                attempts: try reader.attempts()
            )
        }
        changes.reschedulings = try list { reader throws(BlobError) in
            OutboxChanges.Rescheduling(
                key: try reader.key(),
                due: try reader.moment(),
                attempts: try reader.attempts(),
                failure: try reader.optional { reader throws(BlobError) in try reader.failure() }
            )
        }
        changes.immediateRetries = try list { reader throws(BlobError) in
            let key = try reader.key()
            return RetryPlace(due: try reader.moment(), key: key)
        }
        changes.forgotten = try list { reader throws(BlobError) in try reader.device() }
        changes.ends = try list { reader throws(BlobError) in
            CompletedPush(
                device: try reader.device(),
                delivery: try reader.deliveryID(),
                counts: try reader.flag(),
                stopsBlocking: try reader.flag(),
                moment: try reader.moment()
            )
        }
        return changes
    }
}

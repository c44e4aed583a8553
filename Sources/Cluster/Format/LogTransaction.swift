import Delivery
import Notifications
import Units

/// What happens to a partition as a whole or not at all: an insertion into its outbox, dead letters that go, or
/// outcomes, or all of these, applied in this order.
///
/// Deliveries are numbered in the order in which they come into the partition. Keys in ``changes`` are these numbers:
/// their queue is 0.
package struct LogTransaction: Equatable, Sendable {
    package var pace = PaceChanges()
    package var deliveries: [Delivery] = []
    /// 32 bytes each.
    package var causes: [[UInt8]] = []
    /// Dead letters that go, by the ids of their deliveries: these are among ``deliveries`` again, or dropped.
    package var letters: [DeliveryID] = []
    package var changes = OutboxChanges()

    package init() {}

    package var isEmpty: Bool {
        pace.isEmpty && deliveries.isEmpty && causes.isEmpty && letters.isEmpty && changes.isEmpty
    }
}

/// A transaction as a record has it.
struct EncodedTransaction: Sendable {
    /// Notifications that several deliveries have, in the form that stands before the transaction since version 3; nil
    /// where none is shared.
    let shared: [UInt8]?
    /// The rest, but for dead letters, which stand behind all transactions.
    let body: [UInt8]
    let letters: [DeliveryID]

    /// `sharing`: a notification that several deliveries have is there once, which versions before 3 do not read.
    init(_ transaction: LogTransaction, sharing: Bool) {
        letters = transaction.letters
        let table = SharedTable(sharing ? transaction.deliveries : [])
        var writer = BlobWriter(capacity: 64 + (table.isEmpty ? 256 : 80) * transaction.deliveries.count)
        writer.write(transaction, sharing: table)
        body = writer.bytes
        guard !table.isEmpty else {
            shared = nil
            return
        }
        var first = BlobWriter(capacity: 512)
        first.write(table)
        shared = first.bytes
    }

    /// What it takes in a record, at most.
    var size: Int { body.count + (shared?.count ?? 1) + letters.count * (DeliveryID.textLength + 2) + 4 }
}

extension OutboxKey {
    /// The key of a delivery in a partition's log.
    package init(number: Int64) { self.init(queue: 0, sequence: number) }

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
        write(changes.burials) { writer, burial in
            writer.write(signed: burial.key.sequence)
            writer.write(burial.failure)
            writer.write(burial.failedAt)
            writer.write(signed: Int64(burial.attempts))
        }
        write(changes.reschedulings) { writer, change in
            writer.write(signed: change.key.sequence)
            writer.write(change.due)
            writer.write(signed: Int64(change.attempts))
            writer.write(change.failure) { $0.write($1) }
        }
        write(changes.hastenings) { writer, change in
            writer.write(signed: change.key.sequence)
            writer.write(change.due)
        }
        write(changes.forgotten) { $0.write(signed: $1.rawValue) }
        write(changes.ends) { writer, end in
            writer.write(signed: end.device.rawValue)
            writer.write(end.delivery)
            writer.write(flag: end.counts)
            writer.write(flag: end.standsAside)
            writer.write(end.moment)
        }
    }
}

// MARK: Reading

extension BlobReader {
    /// `shared`: the notifications that stand before it.
    mutating func transaction(sharing shared: [Notification]) throws(BlobError) -> LogTransaction {
        var transaction = LogTransaction()
        transaction.pace = try paceChanges()
        transaction.deliveries = try list { reader throws(BlobError) in try reader.delivery(sharing: shared) }
        transaction.causes = try list { reader throws(BlobError) in try reader.fixed(32) }
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
        changes.burials = try list { reader throws(BlobError) in
            OutboxChanges.Burial(
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
        changes.hastenings = try list { reader throws(BlobError) in
            OutboxChanges.Hastening(key: try reader.key(), due: try reader.moment())
        }
        changes.forgotten = try list { reader throws(BlobError) in try reader.device() }
        changes.ends = try list { reader throws(BlobError) in
            PushEnd(
                device: try reader.device(),
                delivery: try reader.deliveryID(),
                counts: try reader.flag(),
                standsAside: try reader.flag(),
                moment: try reader.moment()
            )
        }
        return changes
    }
}

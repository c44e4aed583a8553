import Delivery
import DequeModule

/// The queue of appends to a partition's log: transactions in order, and the last read position of each relay. Packs
/// them into records up to the size limit.
struct PendingRecords: Sendable {
    /// A record to append, and the transactions that are stored with it.
    struct Next: Sendable {
        let record: LogRecord
        let bytes: [UInt8]
        let commits: [PartitionLog.Commit]
    }

    private struct Pending: Sendable {
        let number: UInt64
        let transaction: LogTransaction
        let encoded: EncodedTransaction
    }

    private var queue: Deque<Pending> = []
    private var marks: [String: RelayMark] = [:]
    /// The number of the last transaction.
    private(set) var lastNumber: UInt64 = 0

    var isEmpty: Bool { queue.isEmpty && marks.isEmpty }

    /// Adds a transaction and returns its number.
    mutating func add(_ transaction: LogTransaction) throws(PartitionLogError) -> UInt64 {
        let encoded = EncodedTransaction(transaction)
        let size = encoded.bytes.count
        guard size + LogRecord.headSize <= LogRecord.longest else { throw .tooLong(size) }
        lastNumber += 1
        queue.append(Pending(number: lastNumber, transaction: transaction, encoded: encoded))
        return lastNumber
    }

    /// Drops all pending transactions and marks. Numbering continues.
    mutating func removeAll() { (queue, marks) = ([], [:]) }

    mutating func note(_ mark: RelayMark) { marks[mark.relay] = mark }

    /// Takes the next record, which follows everything in `state`; nil: none. Marks wait for transactions.
    mutating func takeRecord(after state: PartitionState) -> Next? {
        var identity = state.identity
        identity.index += 1
        if !queue.isEmpty { return takeTransactions(identity, firstDelivery: state.nextDelivery) }
        guard !marks.isEmpty else { return nil }
        let record = LogRecord(identity, .marks(takeMarks()))
        return Next(record: record, bytes: record.bytes, commits: [])
    }

    private mutating func takeTransactions(_ identity: LogRecord.Identity, firstDelivery: Int64) -> Next {
        var (size, commits): (Int, [PartitionLog.Commit]) = (LogRecord.headSize, [])
        var (transactions, encoded): ([LogTransaction], [EncodedTransaction]) = ([], [])
        var nextDelivery = firstDelivery
        while let next = queue.first, size + next.encoded.bytes.count <= LogRecord.longest {
            queue.removeFirst()
            size += next.encoded.bytes.count
            let deliveries = next.transaction.deliveries
            commits.append(
                PartitionLog.Commit(number: next.number, firstDelivery: nextDelivery, deliveries: deliveries)
            )
            nextDelivery += Int64(deliveries.count)
            transactions.append(next.transaction)
            encoded.append(next.encoded)
        }
        return Next(
            record: LogRecord(identity, .transactions(transactions, firstDelivery: firstDelivery)),
            bytes: LogRecord.bytes(identity, encoded, firstDelivery: firstDelivery),
            commits: commits
        )
    }

    /// Takes as many marks as fit into a record.
    private mutating func takeMarks() -> [RelayMark] {
        var (size, taken): (Int, [RelayMark]) = (LogRecord.headSize, [])
        for mark in marks.values.sorted(by: { $0.relay < $1.relay }) {
            size += mark.relay.utf8.count + 16
            guard size <= LogRecord.longest else { break }
            taken.append(mark)
        }
        for mark in taken { marks[mark.relay] = nil }
        return taken
    }
}

import Delivery
import DequeModule

/// What waits to be appended to a partition's log: transactions in their order, and of each relay the last mark. Makes
/// records of as much as one takes.
struct PendingRecords: Sendable {
    /// A record to append, and the transactions that are kept with it.
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
    /// The number that the last transaction got.
    private(set) var lastNumber: UInt64 = 0

    /// Bytes of the transactions.
    var bytes: Int { queue.reduce(0) { $0 + $1.encoded.size } }

    /// Whether there is nothing that members of version `wire` read.
    func isEmpty(for wire: Int) -> Bool { queue.isEmpty && !hasMarks(for: wire) }

    private func hasMarks(for wire: Int) -> Bool { !marks.isEmpty && wire >= LogRecord.versionOfMarks }

    /// Adds a transaction, in a form that members of version `wire` read, and returns its number.
    mutating func add(_ transaction: LogTransaction, for wire: Int) throws(PartitionLogError) -> UInt64 {
        let encoded = EncodedTransaction(transaction, sharing: wire >= LogRecord.versionOfShared)
        guard encoded.size + LogRecord.headSize <= LogRecord.longest else { throw .tooLong(encoded.size) }
        lastNumber += 1
        queue.append(Pending(number: lastNumber, transaction: transaction, encoded: encoded))
        return lastNumber
    }

    /// Drops everything. Numbers go on.
    mutating func removeAll() { (queue, marks) = ([], [:]) }

    mutating func note(_ mark: RelayMark) { marks[mark.relay] = mark }

    /// The next record, which stands behind everything in `state`; nil: there is nothing. Marks wait for transactions.
    mutating func takeRecord(behind state: PartitionState, for wire: Int) -> Next? {
        var identity = state.identity
        identity.index += 1
        if !queue.isEmpty { return takeTransactions(identity, firstDelivery: state.nextDelivery) }
        guard hasMarks(for: wire) else { return nil }
        let record = LogRecord(identity, .marks(takeMarks()))
        return Next(record: record, bytes: record.bytes, commits: [])
    }

    private mutating func takeTransactions(_ identity: LogRecord.Identity, firstDelivery: Int64) -> Next {
        var (size, commits): (Int, [PartitionLog.Commit]) = (LogRecord.headSize, [])
        var (transactions, encoded): ([LogTransaction], [EncodedTransaction]) = ([], [])
        var nextDelivery = firstDelivery
        while let next = queue.first, size + next.encoded.size <= LogRecord.longest {
            queue.removeFirst()
            size += next.encoded.size
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

    /// As many marks as a record takes.
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

import Delivery

/// The known contents of a partition's log, and which records follow its newest snapshot.
struct LogContents: Sendable {
    private(set) var state: PartitionState
    /// The sequence of the last record in ``state``.
    private(set) var position: UInt64 = 0
    private(set) var recordsSinceSnapshot = 0
    private(set) var bytesSinceSnapshot = 0
    private let limits: PartitionState.Limits

    init(limits: PartitionState.Limits) {
        self.limits = limits
        state = PartitionState(limits: limits)
    }

    /// Restarts with a snapshot up to a sequence, or empty.
    mutating func begin(with snapshot: (bytes: [UInt8], sequence: UInt64)?) throws(BlobError) {
        self = LogContents(limits: limits)
        guard let snapshot else { return }
        state = try PartitionState(snapshot: snapshot.bytes, limits: limits)
        position = snapshot.sequence
    }

    /// Takes up the record at a sequence, which `bytes` are. Throws for one that does not follow, and then is as
    /// before.
    mutating func add(_ record: LogRecord, _ bytes: [UInt8], at sequence: UInt64) throws(PartitionLogError) {
        guard sequence > position else { throw .gap }
        try state.apply(record)
        position = sequence
        recordsSinceSnapshot += 1
        bytesSinceSnapshot += bytes.count
    }

    /// The record that is stored at the next sequence and follows; nil: it is skipped, since no member wrote it or it
    /// is a duplicate.
    mutating func next(_ stored: LogAnswer.Record) throws(BlobError) -> (record: LogRecord, bytes: [UInt8])? {
        if let bytes = stored.bytes {
            let record = try LogRecord(bytes)
            if !state.includes(record.identity) { return (record, bytes) }
        }
        position = stored.sequence
        // It takes space as a record does.
        recordsSinceSnapshot += 1
        return nil
    }

    /// A snapshot of everything is being written.
    mutating func beginSnapshot() { (recordsSinceSnapshot, bytesSinceSnapshot) = (0, 0) }
}

import Delivery

/// The contents of a partition's log as read so far: its state, and the number of records since the newest snapshot.
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

    /// Resets it to a snapshot up to a sequence, or to empty.
    mutating func begin(with snapshot: (bytes: [UInt8], sequence: UInt64)?) throws(BlobError) {
        self = LogContents(limits: limits)
        guard let snapshot else { return }
        state = try PartitionState(snapshot: snapshot.bytes, limits: limits)
        position = snapshot.sequence
    }

    /// Applies the record at a sequence; `bytes` is its encoded form. Throws without any change if the record does not
    /// follow.
    mutating func add(_ record: LogRecord, _ bytes: [UInt8], at sequence: UInt64) throws(PartitionLogError) {
        guard sequence > position else { throw .gap }
        try state.apply(record)
        position = sequence
        recordsSinceSnapshot += 1
        bytesSinceSnapshot += bytes.count
    }

    /// Decodes the record at the next sequence. Returns nil for one to skip: no member wrote it, or it is a duplicate.
    mutating func next(_ stored: LogAnswer.Record) throws(BlobError) -> (record: LogRecord, bytes: [UInt8])? {
        if let bytes = stored.bytes {
            let record = try LogRecord(bytes)
            if !state.includes(record.identity) { return (record, bytes) }
        }
        position = stored.sequence
        // A skipped record takes space too.
        recordsSinceSnapshot += 1
        return nil
    }

    /// Resets the counts, because a snapshot of everything is being written.
    mutating func beginSnapshot() { (recordsSinceSnapshot, bytesSinceSnapshot) = (0, 0) }
}

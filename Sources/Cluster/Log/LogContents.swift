import Delivery

/// What a partition's log holds, as far as it was read or written here, and what of it is behind the newest snapshot.
struct LogContents: Sendable {
    private(set) var state: PartitionState
    /// The sequence of the last record in ``state``.
    private(set) var position: UInt64 = 0
    /// The newest version that somebody has to read who takes the partition over.
    private(set) var newestVersion = LogRecord.oldestVersion
    private(set) var recordsSinceSnapshot = 0
    private(set) var bytesSinceSnapshot = 0
    /// Of the snapshot that is being written, and of the records since it was begun.
    private var versions = (ofSnapshot: LogRecord.oldestVersion, since: LogRecord.oldestVersion)
    private let limits: PartitionState.Limits

    init(limits: PartitionState.Limits) {
        self.limits = limits
        state = PartitionState(limits: limits)
    }

    /// Begins anew, with a snapshot up to a sequence, or with nothing.
    mutating func begin(with snapshot: (bytes: [UInt8], sequence: UInt64)?) throws(BlobError) {
        self = LogContents(limits: limits)
        guard let snapshot else { return }
        state = try PartitionState(snapshot: snapshot.bytes, limits: limits)
        position = snapshot.sequence
        note(snapshot.bytes)
    }

    /// Takes up the record at a sequence, which `bytes` are. Throws for one that does not follow, and then is as
    /// before.
    mutating func add(_ record: LogRecord, _ bytes: [UInt8], at sequence: UInt64) throws(PartitionLogError) {
        guard sequence > position else { throw .gap }
        try state.apply(record)
        position = sequence
        recordsSinceSnapshot += 1
        bytesSinceSnapshot += bytes.count
        note(bytes)
    }

    /// The record that is stored at the next sequence and follows; nil: it is passed over, since no member wrote it, or
    /// somebody stored once more what is here already.
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

    private mutating func note(_ bytes: [UInt8]) {
        guard let version = bytes.first.map(Int.init) else { return }
        newestVersion = max(newestVersion, version)
        versions.since = max(versions.since, version)
    }

    /// A snapshot of everything is being written.
    mutating func beginSnapshot(_ bytes: [UInt8]) {
        versions = (bytes.first.map(Int.init) ?? LogRecord.oldestVersion, LogRecord.oldestVersion)
        (recordsSinceSnapshot, bytesSinceSnapshot) = (0, 0)
    }

    /// It takes the place of everything before it.
    mutating func keptSnapshot() { newestVersion = max(versions.ofSnapshot, versions.since) }
}

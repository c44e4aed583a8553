import Cipher
import Delivery

/// Reads the newest snapshot of a partition and the records after it. A pure state machine: the caller sends its
/// requests to the storage, one at a time, and passes the responses back.
struct LogReader: Sendable {
    enum Step: Sendable {
        case ask(LogQuestion)
        /// All stored records are in the contents.
        case read
        /// The stored parts are inconsistent, perhaps because a snapshot is being replaced. Send this request after a
        /// pause.
        case again(LogQuestion)
        case failed(PartitionLogError)
    }

    private enum Phase: Sendable {
        case head
        case parts(SnapshotHead, [UInt8], next: Int)
        case records
    }

    private let maxContradictions: Int
    private var phase = Phase.head
    private var contradictions = 0

    init(maxContradictions: Int) { self.maxContradictions = maxContradictions }

    /// Returns the first request.
    mutating func begin() -> LogQuestion {
        phase = .head
        return .head
    }

    /// Continues after the records read so far, because more were appended.
    mutating func continueReading(after contents: LogContents) -> LogQuestion {
        phase = .records
        return .records(after: contents.position)
    }

    /// Resets the count of contradictions after a successful read.
    mutating func settle() { contradictions = 0 }

    mutating func answered(_ answer: LogAnswer, _ contents: inout LogContents) -> Step {
        switch (phase, answer) {
        case (.head, .head(let head, _)): return take(head, &contents)
        case (.parts(let head, let bytes, let next), .part(let part)):
            return take(part, next, of: head, bytes, &contents)
        case (.records, .records(let records, let isLast)): return take(records, isLast: isLast, &contents)
        default: return contradiction("an answer that does not fit")
        }
    }

    /// Restarts reading from the snapshot, or fails after too many contradictions.
    mutating func contradiction(_ what: String) -> Step {
        contradictions += 1
        guard contradictions <= maxContradictions else { return .failed(.damaged(what)) }
        return .again(begin())
    }

    private mutating func take(_ head: SnapshotHead?, _ contents: inout LogContents) -> Step {
        guard let head else { return begin(with: nil, &contents) }
        guard head.isPlausible else { return contradiction("its snapshot's head has impossible numbers") }
        phase = .parts(head, [], next: 0)
        return head.parts == 0 ? finish(head, [], &contents) : .ask(.part(name: head.name, index: 0))
    }

    private mutating func take(
        _ part: [UInt8]?,
        _ index: Int,
        of head: SnapshotHead,
        _ bytes: [UInt8],
        _ contents: inout LogContents
    ) -> Step {
        guard let part, bytes.count + part.count <= head.byteCount else {
            return contradiction("a part of its snapshot is missing")
        }
        guard index + 1 == head.parts else {
            phase = .parts(head, bytes + part, next: index + 1)
            return .ask(.part(name: head.name, index: index + 1))
        }
        return finish(head, bytes + part, &contents)
    }

    private mutating func finish(_ head: SnapshotHead, _ bytes: [UInt8], _ contents: inout LogContents) -> Step {
        guard bytes.count == head.byteCount, Hex.encode(SHA256.hash(bytes)) == head.sha256 else {
            return contradiction("its snapshot is not what its head says")
        }
        return begin(with: (bytes, head.sequence), &contents)
    }

    private mutating func begin(
        with snapshot: (bytes: [UInt8], sequence: UInt64)?,
        _ contents: inout LogContents
    ) -> Step {
        do throws(BlobError) {
            try contents.begin(with: snapshot)
        } catch {
            return refuse(error)
        }
        return .ask(continueReading(after: contents))
    }

    private mutating func take(
        _ records: [LogAnswer.Record],
        isLast: Bool,
        _ contents: inout LogContents
    ) -> Step {
        for stored in records where stored.sequence > contents.position {
            let next: (record: LogRecord, bytes: [UInt8])?
            do throws(BlobError) {
                next = try contents.next(stored)
            } catch {
                return refuse(error)
            }
            guard let next else { continue }
            do throws(PartitionLogError) {
                try contents.add(next.record, next.bytes, at: stored.sequence)
            } catch {
                return contradiction("records are missing")
            }
        }
        return isLast ? .read : .ask(.records(after: contents.position))
    }

    private func refuse(_ error: BlobError) -> Step {
        if case .unknownVersion(let version) = error { return .failed(.otherFormat(found: version)) }
        return .failed(.damaged("\(error)"))
    }
}

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

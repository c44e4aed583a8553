import RouterConfiguration

/// The description of a partition's newest snapshot, at `HEAD.<partition>`. It is written after the snapshot's parts;
/// then the log is truncated.
struct SnapshotHead: Hashable, Sendable, Codable {
    static let maxParts = 4_096
    static let partSize = 512 << 10

    /// The name of the parts, unique to the snapshot.
    var name: String
    var parts: Int
    var byteCount: Int
    /// The SHA-256 of all parts together, in hexadecimal digits.
    var sha256: String
    /// The sequence of the last record in the snapshot, and the epoch that wrote it.
    var sequence: UInt64
    var epoch: UInt64

    /// Whether the numbers are valid.
    var isPlausible: Bool {
        (0...Self.maxParts).contains(parts) && (0...parts * Self.partSize).contains(byteCount) && sha256.count == 64
            && MemberName(name) != nil
    }
}

/// A request of a ``PartitionLog`` to the replicated storage.
enum LogQuestion: Equatable, Sendable {
    case head
    case part(name: String, index: Int)
    /// Read the records after a sequence, any number of them.
    case records(after: UInt64)
    /// Append a record if the last sequence of the log is still `expected`.
    case append([UInt8], messageID: String, expected: UInt64)
    case storePart(name: String, index: Int, [UInt8])
    /// Write the head if its revision is still `over`.
    case storeHead(SnapshotHead, over: UInt64)
    /// Delete the log's records before the first sequence, and snapshots' parts before the second.
    case purge(log: UInt64, snapshots: UInt64)
}

/// The storage's response to a ``LogQuestion``.
enum LogAnswer: Equatable, Sendable {
    struct Record: Equatable, Sendable {
        var sequence: UInt64
        /// Nil: no member of the cluster wrote it.
        var bytes: [UInt8]?
    }

    /// Nil: there is none. A head that cannot be decoded is ``unreadable``.
    case head(SnapshotHead?, revision: UInt64)
    case part([UInt8]?)
    /// `isLast`: no records follow.
    case records([Record], isLast: Bool)
    case stored(sequence: UInt64)
    /// The condition does not hold.
    case conflict
    case done
    /// It may or may not have happened: retry.
    case unavailable
    /// The storage is full.
    case full
    /// The stored value is not a valid head.
    case unreadable
}

/// Why a partition's log is not open.
enum PartitionLogError: Error, Hashable, CustomStringConvertible {
    /// Another member has taken the partition over.
    case fenced
    /// The lease expired or was released.
    case released
    /// A record is missing in between.
    case gap
    /// The stored data contradicts itself.
    case damaged(String)
    /// Another version of Carillon wrote it, in a format that this one cannot read.
    case otherFormat(found: UInt8)
    case notOpen
    /// A transaction exceeds the maximum size of a record.
    case tooLong(Int)

    var description: String {
        switch self {
        case .fenced: "another member has taken the partition over"
        case .released: "the partition is no longer this member's"
        case .gap: "records are missing in the partition's log"
        case .damaged(let what): "the partition's log is damaged: \(what)"
        case .otherFormat(let found):
            """
            the partition's log has the format \(found), and this version of Carillon expects \(LogRecord.formatVersion): run \
            the version that wrote it, or remove the cluster's streams to start an empty cluster
            """
        case .notOpen: "the partition's log is not open"
        case .tooLong(let count): "a transaction of \(count) bytes is more than the \(LogRecord.longest) of a record"
        }
    }
}

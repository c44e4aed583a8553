import RouterConfiguration

/// Where a partition's newest snapshot is: what `HEAD.<partition>` holds. It is written after the parts, and the log is
/// shortened after it.
struct SnapshotHead: Hashable, Sendable, Codable {
    static let maxParts = 4_096
    static let partSize = 512 << 10

    /// Names the parts: no two snapshots share it.
    var name: String
    var parts: Int
    var byteCount: Int
    /// The hash over all parts, in hexadecimal digits.
    var sha256: String
    /// Where the last record lies that it includes, and the epoch that made it.
    var sequence: UInt64
    var epoch: UInt64

    /// Whether the numbers can be true.
    var isPlausible: Bool {
        (0...Self.maxParts).contains(parts) && (0...parts * Self.partSize).contains(byteCount) && sha256.count == 64
            && MemberName(name) != nil
    }
}

/// A request of a ``PartitionLog`` to the replicated storage.
enum LogQuestion: Equatable, Sendable {
    case head
    case part(name: String, index: Int)
    /// The records behind a sequence, as many as suit.
    case records(after: UInt64)
    /// Append a record if the last sequence of the log is still `expected`.
    case append([UInt8], messageID: String, expected: UInt64)
    case storePart(name: String, index: Int, [UInt8])
    /// Write the head if its revision is still `over`.
    case storeHead(SnapshotHead, over: UInt64)
    /// Drop records of the log before the first sequence, and parts of snapshots before the second.
    case purge(log: UInt64, snapshots: UInt64)
}

/// How a question to the storage ended.
enum LogAnswer: Equatable, Sendable {
    struct Record: Equatable, Sendable {
        var sequence: UInt64
        /// Nil: no member of the cluster wrote it.
        var bytes: [UInt8]?
    }

    /// Nil: there is none. One that cannot be read is ``unreadable``.
    case head(SnapshotHead?, revision: UInt64)
    case part([UInt8]?)
    /// `isLast`: there was nothing behind them.
    case records([Record], isLast: Bool)
    case stored(sequence: UInt64)
    /// The condition does not hold.
    case conflict
    case done
    /// It may have happened or not: ask again.
    case unavailable
    /// There is no space for it.
    case full
    /// The stored value is not a valid head.
    case unreadable
}

/// Why a partition's log is not open.
enum PartitionLogError: Error, Hashable, CustomStringConvertible {
    /// Another member has taken it over.
    case fenced
    /// The lease ended, or was given up.
    case released
    /// A record is missing between others.
    case gap
    /// The stored data contradicts itself.
    case damaged(String)
    /// A version of Carillon wrote it whose format this one cannot read.
    case otherFormat(found: UInt8)
    case notOpen
    /// A transaction takes more than a record may.
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

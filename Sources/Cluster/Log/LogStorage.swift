/// Where a partition's newest snapshot is: what `HEAD.<partition>` holds. It is written after the parts, and the log is
/// shortened after it.
package struct SnapshotHead: Hashable, Sendable, Codable {
    package static let mostParts = 4_096
    package static let partSize = 512 << 10

    /// Names the parts: no two snapshots share it.
    package var name: String
    package var parts: Int
    package var byteCount: Int
    /// Of all parts together, in hexadecimal digits.
    package var sha256: String
    /// Where the last record lies that it includes, and the epoch that made it.
    package var sequence: UInt64
    package var epoch: UInt64

    /// Whether the numbers can be true.
    var isPlausible: Bool {
        (0...Self.mostParts).contains(parts) && (0...parts * Self.partSize).contains(byteCount) && sha256.count == 64
            && MemberName(name) != nil
    }
}

/// What a ``PartitionLog`` asks of the replicated storage.
package enum LogQuestion: Equatable, Sendable {
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
package enum LogAnswer: Equatable, Sendable {
    package struct Record: Equatable, Sendable {
        package var sequence: UInt64
        /// Nil: no member of the cluster wrote it.
        package var bytes: [UInt8]?

        package init(sequence: UInt64, bytes: [UInt8]?) {
            self.sequence = sequence
            self.bytes = bytes
        }
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
    /// What is there is no head.
    case unreadable
}

/// Why a partition's log is not open.
package enum PartitionLogError: Error, Hashable, CustomStringConvertible {
    /// Another member has taken it over.
    case fenced
    /// The lease ended, or was given up.
    case released
    /// A record is missing between others.
    case gap
    /// What is stored contradicts itself.
    case damaged(String)
    /// A newer Carillon wrote it.
    case newerFormat
    case notOpen
    /// A transaction takes more than a record may.
    case tooLong(Int)
    /// A living member does not read what the transaction takes.
    case olderMembers

    package var description: String {
        switch self {
        case .fenced: "another member has taken the partition over"
        case .released: "the partition is no longer this member's"
        case .gap: "records are missing in the partition's log"
        case .damaged(let what): "the partition's log is damaged: \(what)"
        case .newerFormat: "a newer Carillon wrote the partition's log"
        case .notOpen: "the partition's log is not open"
        case .tooLong(let count): "a transaction of \(count) bytes is more than the \(LogRecord.longest) of a record"
        case .olderMembers: "a member of the cluster is of an older version that does not read this: update it first"
        }
    }
}

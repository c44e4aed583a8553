import Foundation
import RouterConfiguration

/// A member's description of itself, at `member.<name>` in the lease bucket. The member rewrites it every second.
struct MemberRecord: Hashable, Sendable, Codable {
    var name: MemberName
    /// A random number, new at each start.
    var incarnation: UInt64
    /// The version of the log format that it reads and writes.
    var wire = Int(LogRecord.formatVersion)
    /// It stops: it hands its partitions over and takes none.
    var isLeaving = false
    /// A hash of its configuration, to find members that differ.
    var configuration = ""
    /// How many times it wrote the record.
    var beat: UInt64 = 0
    /// An operator drained it: it hands its partitions over and takes none, without leaving.
    var isDrained = false
    /// Partitions that it leaves to other members for a while, because it cannot read the format of their logs.
    var declined: [Int] = []
    /// Its version of Carillon; nil: unknown.
    var version: String?
    /// When it started, in seconds since 1970; nil: unknown.
    var startedAt: Int64?
}

/// The lease of a partition, at `p.<number>` in the same bucket. Its holder rewrites it every second.
struct LeaseRecord: Hashable, Sendable, Codable {
    var holder: MemberName
    var incarnation: UInt64
    /// The holder released it: any member may take it immediately.
    var isFree: Bool
    /// The number of lease writes of this incarnation, by which it recognizes its own.
    var beat: UInt64
}

/// An operator's choice of a partition's owner, at `move.<number>` in the same bucket.
struct MoveRecord: Hashable, Sendable, Codable {
    var member: MemberName
}

extension Decodable where Self: Encodable {
    /// Decodes a ``bucketValue``; nil if it is invalid or of a version that this one cannot read.
    init?(bucketValue: [UInt8]) {
        guard bucketValue.count <= 64 << 10,
            let value = try? JSONDecoder().decode(Self.self, from: Data(bucketValue))
        else { return nil }
        self = value
    }

    /// The value in the bucket: JSON, so that an operator can read it.
    var bucketValue: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(self)).map(Array.init) ?? []
    }
}

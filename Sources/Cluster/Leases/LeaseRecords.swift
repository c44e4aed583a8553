import Foundation
import RouterConfiguration

/// A member's description of itself, at `member.<name>` in the bucket of leases. The member rewrites it every second.
struct MemberRecord: Hashable, Sendable, Codable {
    var name: MemberName
    /// A random number, new at each start.
    var incarnation: UInt64
    /// The format of logs that it writes and reads.
    var wire = Int(LogRecord.formatVersion)
    /// It hands its partitions over and takes none.
    var isLeaving = false
    /// A hash of its configuration, to find members that differ.
    var configuration = ""
    /// How often it was written.
    var beat: UInt64 = 0
    /// An operator wants it to hand its partitions over and take none, without leaving.
    var isDrained = false
    /// Partitions that it leaves to others for a while, since it cannot read the format of their logs.
    var declined: [Int] = []
    /// Of Carillon; nil: not set.
    var version: String?
    /// When it started, in seconds since 1970; nil: not set.
    var startedAt: Int64?
}

/// The lease of a partition, at `p.<number>` in the same bucket. Its holder rewrites it every second.
struct LeaseRecord: Hashable, Sendable, Codable {
    var holder: MemberName
    var incarnation: UInt64
    /// The holder gave it up: any member may take it immediately.
    var isFree: Bool
    /// How often this incarnation has written leases, so that it knows its own writes again.
    var beat: UInt64
}

/// Where an operator wants a partition, at `move.<number>` in the same bucket.
struct MoveRecord: Hashable, Sendable, Codable {
    var member: MemberName
}

extension Decodable where Self: Encodable {
    /// Reads what ``bytes`` wrote. Nil: it is something else, or of a later version that cannot be read.
    init?(bucketValue: [UInt8]) {
        guard bucketValue.count <= 64 << 10,
            let value = try? JSONDecoder().decode(Self.self, from: Data(bucketValue))
        else { return nil }
        self = value
    }

    /// As buckets hold it: JSON, so that an operator can read it.
    var bucketValue: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(self)).map(Array.init) ?? []
    }
}

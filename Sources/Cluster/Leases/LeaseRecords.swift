import Foundation

/// How a member is called in the cluster. Part of keys and metrics: letters, digits, `-` and `_`.
package struct MemberName: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    package static let form = "1 to 64 letters, digits, - and _"

    package let rawValue: String

    /// Nil: it has another form.
    package init?(_ text: String) {
        let isName = text.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isName, (1...64).contains(text.utf8.count) else { return nil }
        rawValue = text
    }

    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let name = MemberName(text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no member"))
        }
        self = name
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    package var description: String { rawValue }

    package static func < (left: MemberName, right: MemberName) -> Bool { left.rawValue < right.rawValue }
}

/// What a member says of itself, at `member.<name>` in the bucket of leases. It writes this anew every second.
package struct MemberRecord: Hashable, Sendable, Codable {
    package var name: MemberName
    /// Drawn anew at each start.
    package var incarnation: UInt64
    /// The newest format that it reads. What is written goes by the oldest in the cluster.
    package var wire: Int
    /// It hands its partitions over and takes none.
    package var isLeaving: Bool
    /// A hash of its configuration, to find members that differ.
    package var configuration: String
    /// How often it was written.
    package var beat: UInt64
    /// An operator wants it to hand its partitions over and take none, without leaving; nil: no.
    package var isDrained: Bool?
    /// Partitions that it leaves to others for a while, since a newer version wrote their logs; nil: none.
    package var declined: [Int]?
    /// Of Carillon; nil: it does not say.
    package var version: String?
    /// When it started, in seconds since 1970; nil: it does not say.
    package var startedAt: Int64?

    package init(
        name: MemberName,
        incarnation: UInt64,
        wire: Int = LogRecord.formatVersion,
        isLeaving: Bool = false,
        configuration: String = "",
        beat: UInt64 = 0
    ) {
        self.name = name
        self.incarnation = incarnation
        self.wire = wire
        self.isLeaving = isLeaving
        self.configuration = configuration
        self.beat = beat
    }
}

/// Who works on a partition, at `p.<number>` in the same bucket. Its holder writes it anew every second.
package struct LeaseRecord: Hashable, Sendable, Codable {
    package var holder: MemberName
    package var incarnation: UInt64
    /// The holder gave it up: anybody may take it at once.
    package var isFree: Bool
    /// How often this incarnation has written leases, so that it knows its own writes again.
    package var beat: UInt64

    package init(holder: MemberName, incarnation: UInt64, isFree: Bool, beat: UInt64) {
        self.holder = holder
        self.incarnation = incarnation
        self.isFree = isFree
        self.beat = beat
    }
}

/// Where an operator wants a partition, at `move.<number>` in the same bucket.
package struct MoveRecord: Hashable, Sendable, Codable {
    package var member: MemberName

    package init(member: MemberName) { self.member = member }
}

extension Decodable where Self: Encodable {
    /// Reads what ``bytes`` wrote. Nil: it is something else, or of a later version that cannot be read.
    package init?(bucketValue: [UInt8]) {
        guard bucketValue.count <= 64 << 10,
            let value = try? JSONDecoder().decode(Self.self, from: Data(bucketValue))
        else { return nil }
        self = value
    }

    /// As buckets hold it: JSON, so that an operator can read it.
    package var bucketValue: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(self)).map(Array.init) ?? []
    }
}

import Delivery
import RouterConfiguration

/// One message of a partition's log, and its binary form.
///
///     version   1 byte: 1
///     epoch     LEB128, from 1
///     author    8 bytes, big-endian: the incarnation of the member that wrote it
///     index     LEB128, from 0 within its epoch
///     kind      1 byte: 0 the start of an epoch, 1 transactions, 2 marks of relays
///
/// A start has the epoch and index of the previous record (0 and 0: none), and the member's name. Transactions have
/// their count, the number of their first delivery, a list of the notifications that several of their deliveries share,
/// and each ``LogTransaction``; a shared notification is empty and followed by its index in the list. Marks have their
/// count, and each ``RelayMark``. Integers are LEB128; counts never exceed the bytes that follow.
struct LogRecord: Equatable, Sendable {
    /// The format version of records and snapshots.
    static let formatVersion: UInt8 = 1
    /// The maximum size of a record, in bytes.
    static let longest = 512 << 10

    /// Identifies a record. Identities in a log are consecutive: index by index, epoch by epoch.
    struct Identity: Hashable, Sendable {
        var epoch: UInt64
        var author: UInt64
        var index: UInt64

        /// Before the first record.
        static let none = Identity(epoch: 0, author: 0, index: 0)

        /// The deduplication ID, the same in every append of the record. It contains the partition, because all
        /// partitions share one JetStream stream.
        func messageID(in partition: Int) -> String {
            "\(partition)-\(epoch)-\(String(author, radix: 16))-\(index)"
        }
    }

    enum Body: Equatable, Sendable {
        case beginning(Beginning)
        /// Transactions that were queued while another record was being appended.
        case transactions([LogTransaction], firstDelivery: Int64)
        /// The read positions of the relays that this partition's owner reads.
        case marks([RelayMark])
    }

    /// A member's takeover of the partition. Later appends of former owners are refused.
    struct Beginning: Hashable, Sendable {
        var previousEpoch: UInt64
        var previousIndex: UInt64
        var member: MemberName
    }

    var identity: Identity
    var body: Body

    init(_ identity: Identity, _ body: Body) {
        self.identity = identity
        self.body = body
    }

    var bytes: [UInt8] {
        switch body {
        case .beginning(let beginning):
            var writer = BlobWriter(capacity: 128)
            writer.write(byte: Self.formatVersion)
            writer.write(identity)
            writer.write(byte: 0)
            writer.write(beginning.previousEpoch)
            writer.write(beginning.previousIndex)
            writer.write(beginning.member.rawValue)
            return writer.bytes
        case .transactions(let transactions, let firstDelivery):
            let encoded = transactions.map(EncodedTransaction.init)
            return Self.bytes(identity, encoded, firstDelivery: firstDelivery)
        case .marks(let marks):
            var writer = BlobWriter(capacity: Self.headSize + 64 * marks.count)
            writer.write(byte: Self.formatVersion)
            writer.write(identity)
            writer.write(byte: 2)
            writer.write(marks) { $0.write($1) }
            return writer.bytes
        }
    }

    /// Encodes a record from transactions that are already encoded.
    static func bytes(
        _ identity: Identity,
        _ transactions: [EncodedTransaction],
        firstDelivery: Int64
    ) -> [UInt8] {
        var writer = BlobWriter(capacity: headSize + transactions.reduce(0) { $0 + $1.bytes.count })
        writer.write(byte: formatVersion)
        writer.write(identity)
        writer.write(byte: 1)
        writer.write(UInt64(transactions.count))
        writer.write(signed: firstDelivery)
        for transaction in transactions { writer.write(fixed: transaction.bytes) }
        return writer.bytes
    }

    /// The maximum size of such a record without its transactions, in bytes.
    static let headSize = 64

    /// Decodes ``bytes``; the input is untrusted.
    init(_ bytes: [UInt8]) throws(BlobError) {
        self = try BlobReader.reading(bytes) { reader throws(BlobError) in
            let version = try reader.byte()
            guard version == Self.formatVersion else { throw .unknownVersion(version) }
            let identity = try reader.identity()
            let record = LogRecord(identity, try reader.body())
            try reader.end()
            return record
        }
    }
}

extension BlobWriter {
    mutating func write(_ identity: LogRecord.Identity) {
        write(identity.epoch)
        write(fixed: (0..<8).map { UInt8(truncatingIfNeeded: identity.author >> UInt64(56 - 8 * $0)) })
        write(identity.index)
    }
}

extension BlobReader {
    mutating func identity() throws(BlobError) -> LogRecord.Identity {
        LogRecord.Identity(
            epoch: try integer(),
            author: try fixed(8).reduce(0) { $0 << 8 | UInt64($1) },
            index: try integer()
        )
    }

    fileprivate mutating func body() throws(BlobError) -> LogRecord.Body {
        let start = offset
        switch try byte() {
        case 0:
            let (epoch, index) = (try integer(), try integer())
            let place = offset
            guard let member = MemberName(try text()) else { throw .invalidValue(field: "member", offset: place) }
            return .beginning(LogRecord.Beginning(previousEpoch: epoch, previousIndex: index, member: member))
        case 1:
            let count = try count()
            let firstDelivery = try number()
            var transactions: [LogTransaction] = []
            for _ in 0..<count { transactions.append(try transaction()) }
            return .transactions(transactions, firstDelivery: firstDelivery)
        case 2: return .marks(try list { reader throws(BlobError) in try reader.relayMark() })
        default: throw .invalidValue(field: "kind", offset: start)
        }
    }
}

import Delivery

/// One message of a partition's log, and its binary form.
///
///     version   1 byte: 1; 2 and 3 for what older members do not know
///     epoch     LEB128, from 1
///     author    8 bytes, big-endian: the incarnation of the member that wrote it
///     index     LEB128, from 0 within its epoch
///     kind      1 byte: 0 the beginning of an epoch, 1 transactions, 2 marks of relays (since version 2)
///
/// A beginning continues with the epoch and the index of the record before it (0 and 0 if there is none), the name of
/// the member, and how many epochs began before it without a transaction in between. Transactions continue with their
/// count, the number of their first delivery, and each as ``LogTransaction`` has it. Since version 3 a list of the
/// notifications that several of its deliveries have stands before each; these have an empty one, and the number in the
/// list behind it. Since version 2 the dead letters that go follow all of them: for each transaction a list of ids.
/// Marks continue with their count, and each as ``RelayMark`` has it. Integers are LEB128; counts are never more than
/// the bytes that follow.
package struct LogRecord: Equatable, Sendable {
    /// The newest that this program reads. A record is written in the oldest that can hold it.
    package static let formatVersion = 3
    /// The oldest that is read, and that a member may be held to.
    package static let oldestVersion = 1
    /// The first one in which dead letters can go.
    package static let versionOfLetters = 2
    /// The first one in which records hold marks of relays.
    package static let versionOfMarks = 2
    /// The first one in which deliveries share a notification.
    package static let versionOfShared = 3
    /// What the longest record takes.
    package static let longest = 512 << 10

    /// Names a record. The records of a log follow each other without a gap: index by index, epoch by epoch.
    package struct Identity: Hashable, Sendable {
        package var epoch: UInt64
        package var author: UInt64
        package var index: UInt64

        package init(epoch: UInt64, author: UInt64, index: UInt64) {
            self.epoch = epoch
            self.author = author
            self.index = index
        }

        /// Before the first record.
        package static let none = Identity(epoch: 0, author: 0, index: 0)

        /// The same in every append of the record, so that JetStream knows a repetition. It knows ids by stream, and
        /// all partitions share one.
        package func messageID(in partition: Int) -> String {
            "\(partition)-\(epoch)-\(String(author, radix: 16))-\(index)"
        }
    }

    package enum Body: Equatable, Sendable {
        case beginning(Beginning)
        /// Several that came while another record was on its way.
        case transactions([LogTransaction], firstDelivery: Int64)
        /// How far relays were read whose reader this partition's owner is.
        case marks([RelayMark])
    }

    /// A member takes the partition over. From here on what former owners append is refused.
    package struct Beginning: Hashable, Sendable {
        package var previousEpoch: UInt64
        package var previousIndex: UInt64
        package var member: MemberName
        /// Epochs in a row that did nothing: what comes next may be what kills a member.
        package var idleEpochs: UInt64

        package init(previousEpoch: UInt64, previousIndex: UInt64, member: MemberName, idleEpochs: UInt64) {
            self.previousEpoch = previousEpoch
            self.previousIndex = previousIndex
            self.member = member
            self.idleEpochs = idleEpochs
        }
    }

    package var identity: Identity
    package var body: Body

    package init(_ identity: Identity, _ body: Body) {
        self.identity = identity
        self.body = body
    }

    package var bytes: [UInt8] {
        switch body {
        case .beginning(let beginning):
            var writer = BlobWriter(capacity: 128)
            writer.write(byte: UInt8(Self.oldestVersion))
            writer.write(identity)
            writer.write(byte: 0)
            writer.write(beginning.previousEpoch)
            writer.write(beginning.previousIndex)
            writer.write(beginning.member.rawValue)
            writer.write(beginning.idleEpochs)
            return writer.bytes
        case .transactions(let transactions, let firstDelivery):
            let encoded = transactions.map { EncodedTransaction($0, sharing: true) }
            return Self.bytes(identity, encoded, firstDelivery: firstDelivery)
        case .marks(let marks):
            var writer = BlobWriter(capacity: Self.headSize + 64 * marks.count)
            writer.write(byte: UInt8(Self.versionOfMarks))
            writer.write(identity)
            writer.write(byte: 2)
            writer.write(marks) { $0.write($1) }
            return writer.bytes
        }
    }

    /// A record of transactions that are written already.
    static func bytes(
        _ identity: Identity,
        _ transactions: [EncodedTransaction],
        firstDelivery: Int64
    ) -> [UInt8] {
        let version =
            if transactions.contains(where: { $0.shared != nil }) {
                versionOfShared
            } else if transactions.contains(where: { !$0.letters.isEmpty }) {
                versionOfLetters
            } else {
                oldestVersion
            }
        var writer = BlobWriter(capacity: headSize + transactions.reduce(0) { $0 + $1.size })
        writer.write(byte: UInt8(version))
        writer.write(identity)
        writer.write(byte: 1)
        writer.write(UInt64(transactions.count))
        writer.write(signed: firstDelivery)
        for transaction in transactions {
            // None is a list of none.
            if version >= versionOfShared { writer.write(fixed: transaction.shared ?? [0]) }
            writer.write(fixed: transaction.body)
        }
        if version >= versionOfLetters {
            for transaction in transactions { writer.write(transaction.letters) { $0.write($1) } }
        }
        return writer.bytes
    }

    /// What a record of transactions takes at most besides these.
    static let headSize = 64

    /// Reads ``bytes``, which may be anything.
    package init(_ bytes: [UInt8]) throws(BlobError) {
        self = try BlobReader.reading(bytes) { reader throws(BlobError) in
            let version = try reader.byte()
            guard (Self.oldestVersion...Self.formatVersion).contains(Int(version)) else {
                throw .unknownVersion(version)
            }
            let identity = try reader.identity()
            let record = LogRecord(identity, try reader.body(of: Int(version)))
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

    fileprivate mutating func body(of version: Int) throws(BlobError) -> LogRecord.Body {
        let start = offset
        switch try byte() {
        case 0:
            let (epoch, index) = (try integer(), try integer())
            let place = offset
            guard let member = MemberName(try text()) else { throw .invalidValue(field: "member", offset: place) }
            return .beginning(
                LogRecord.Beginning(
                    previousEpoch: epoch,
                    previousIndex: index,
                    member: member,
                    idleEpochs: try integer()
                )
            )
        case 1:
            let count = try count()
            let firstDelivery = try number()
            var transactions: [LogTransaction] = []
            for _ in 0..<count {
                let shared = version >= LogRecord.versionOfShared ? try sharedNotifications() : []
                transactions.append(try transaction(sharing: shared))
            }
            guard version >= LogRecord.versionOfLetters else {
                return .transactions(transactions, firstDelivery: firstDelivery)
            }
            for place in transactions.indices {
                transactions[place].letters = try list { reader throws(BlobError) in try reader.deliveryID() }
            }
            return .transactions(transactions, firstDelivery: firstDelivery)
        case 2: return .marks(try list { reader throws(BlobError) in try reader.relayMark() })
        default: throw .invalidValue(field: "kind", offset: start)
        }
    }
}

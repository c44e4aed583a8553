import Cipher
import Delivery
import DeliveryTestSupport
import Push
import RandomTestSupport
import RouterConfiguration
import Testing

@testable import Cluster

/// The binary forms of a log's records, of snapshots and of batches. Different members write and read them, so the
/// tests check the bytes.
struct FormatTests {
    private let identity = LogRecord.Identity(epoch: 300, author: 0x0102_0304_0506_0708, index: 5)

    private var beginning: LogRecord {
        get throws {
            let name = try #require(MemberName("a-1"))
            return LogRecord(
                LogRecord.Identity(epoch: 2, author: 0xFFFF_0000_0000_0001, index: 0),
                .beginning(.init(previousEpoch: 1, previousIndex: 200, member: name))
            )
        }
    }

    /// Returns an id's string after its length.
    private static func hex(_ id: DeliveryID) -> String { "24" + Hex.encode(Array(id.description.utf8)) }

    @Test func aBeginningHasTheseBytes() throws {
        let record = try beginning
        #expect(Hex.encode(record.bytes) == "0102ffff0000000000010000" + "01c80103612d31")
        #expect(try LogRecord(record.bytes) == record)
    }

    @Test func transactionsHaveTheseBytes() throws {
        let record = LogRecord(identity, .transactions([.sample(1)], firstDelivery: 41))
        let cause = String(repeating: "01", count: 32)
        // The notification is a separate blob with its own tests.
        let blob = Delivery.sample(1).notification.blob
        let delivery =
            Self.hex("d1") + "01" + "03696f73" + "0764656661756c74" + "e807" + Hex.encode([UInt8(blob.count)] + blob)
        let expected =
            "01ac02010203040506070805" + "01" + "01" + "29" + "0000000000000000" + "01" + delivery + "01" + cause
            + "00000000000000"
        #expect(Hex.encode(record.bytes) == expected)
        #expect(try LogRecord(record.bytes) == record)
    }

    @Test func aDeliveryWithoutAUUIDCannotBeRead() throws {
        var bytes = LogRecord(identity, .transactions([.sample(1)], firstDelivery: 41)).bytes
        let id = Array(("d1" as DeliveryID).description.utf8)
        let start = try #require(bytes.indices.first { bytes[$0...].starts(with: id) })
        bytes[start] = UInt8(ascii: "x")
        #expect(throws: BlobError.invalidValue(field: "id", offset: start - 1)) { try LogRecord(bytes) }
    }

    @Test func deadLettersThatGoHaveTheseBytes() throws {
        var dropping = LogTransaction()
        dropping.letters = ["d7", "d10"]
        let record = LogRecord(identity, .transactions([LogTransaction(), dropping], firstDelivery: 41))
        func zeros(_ count: Int) -> String { String(repeating: "00", count: count) }
        let expected =
            "01ac02010203040506070805" + "01" + "02" + "29" + zeros(17) + zeros(10) + "02" + Self.hex("d7")
            + Self.hex("d10") + zeros(6)
        #expect(Hex.encode(record.bytes) == expected)
        #expect(try LogRecord(record.bytes) == record)
    }

    @Test func everyFieldRoundTrips() throws {
        let record = LogRecord(identity, .transactions([.full, LogTransaction(), .sample(3)], firstDelivery: 1))
        #expect(try LogRecord(record.bytes) == record)
        // A change of the format requires a new version.
        #expect(Hex.encode(SHA256.hash(record.bytes)).prefix(16) == "3657523cb058315e")
    }

    @Test func snapshotRoundTrips() throws {
        var state = PartitionState()
        try state.apply(beginningOfAll())
        let identity = LogRecord.Identity(epoch: 1, author: 9, index: 1)
        try state.apply(LogRecord(identity, .transactions([.full], firstDelivery: 1)))
        #expect(try PartitionState(snapshot: state.snapshot()) == state)
        #expect(!state.waiting.isEmpty && !state.deadLetters.isEmpty && !state.held.isEmpty && !state.paces.isEmpty)
        #expect(Hex.encode(SHA256.hash(state.snapshot())).prefix(16) == "baa39c3f3bf5af89")
    }

    @Test func relayMarksRoundTrip() throws {
        var state = PartitionState()
        try state.apply(beginningOfAll())
        let marks = [
            RelayMark(relay: "wss://a.example", moment: 7), RelayMark(relay: "wss://b.example", moment: nil),
        ]
        let earlier = [RelayMark(relay: "wss://b.example", moment: 3)]
        try state.apply(LogRecord(LogRecord.Identity(epoch: 1, author: 9, index: 1), .marks(earlier)))
        let record = LogRecord(LogRecord.Identity(epoch: 1, author: 9, index: 2), .marks(marks))
        #expect(try LogRecord(record.bytes) == record)
        try state.apply(record)
        #expect(state.relays == ["wss://a.example": 7])
        let snapshot = state.snapshot()
        // A count, a string with its length, and the mark of a value.
        #expect(Array(snapshot.suffix(19)) == [1, 15] + Array("wss://a.example".utf8) + [1, 7])
        #expect(try PartitionState(snapshot: snapshot) == state)
    }

    @Test func sharedNotificationIsStoredOnce() throws {
        let crowd = LogTransaction.crowd(1...40)
        var mixed = crowd
        mixed.letters = ["d3"]
        let others: [LogTransaction] = [.sample(50), mixed, .full]
        let record = LogRecord(identity, .transactions(others, firstDelivery: 1))
        #expect(try LogRecord(record.bytes) == record)
        let text = Array(LogTransaction.crowdText.utf8)
        #expect(record.bytes.count(of: text) == 1)
        // Read values are shared as well: snapshots, and everything written from them.
        var state = PartitionState()
        try state.apply(beginningOfAll())
        guard case .transactions(let read, _) = try LogRecord(record.bytes).body else { return }
        let next = LogRecord.Identity(epoch: 1, author: 9, index: 1)
        try state.apply(LogRecord(next, .transactions(Array(read.prefix(2)), firstDelivery: 1)))
        let snapshot = state.snapshot()
        #expect(snapshot.count(of: text) == 1)
        #expect(try PartitionState(snapshot: snapshot) == state)
    }

    /// A number without a notification is rejected.
    @Test func missingSharedNotificationIsRefused() throws {
        let bytes = LogRecord(identity, .transactions([.crowd(1...2)], firstDelivery: 1)).bytes
        // The last delivery ends with an empty notification and its number; no cause and six empty lists follow.
        let place = bytes.count - 1 - 6 - 1 - 1
        #expect(bytes[place] == 0 && bytes[place - 1] == 0)
        var changed = bytes
        changed[place] = 1
        #expect(throws: BlobError.self) { try LogRecord(changed) }
    }

    private func beginningOfAll() throws -> LogRecord {
        let name = try #require(MemberName("a"))
        return LogRecord(
            LogRecord.Identity(epoch: 1, author: 9, index: 0),
            .beginning(.init(previousEpoch: 0, previousIndex: 0, member: name))
        )
    }

    @Test func aBatchHasTheseBytes() throws {
        let batch = HandOverBatch(HandOverBatch.ID(sender: 0x0102_0304_0506_0708, number: 130), [[1, 2], []])
        #expect(Hex.encode(batch.bytes) == "0101020304050607088201" + "02" + "020102" + "00")
        #expect(try HandOverBatch(batch.bytes) == batch)
        #expect(HandOverAnswer.kept.bytes() == [1, 0] && HandOverAnswer.read([1, 1])?.answer == .later)
        for bytes in [[1, 2], [2, 0], [], [1, 0, 1], [1, 0, 1, 0, 2, 7]] as [[UInt8]] {
            #expect(HandOverAnswer.read(bytes) == nil)
        }
        let notes: HandOverNotes = [0: [7, 8], 300: []]
        let read = HandOverAnswer.read(HandOverAnswer.kept.bytes(with: notes))
        #expect(read?.answer == .kept && read?.notes == notes)
    }

    // MARK: Hostile bytes

    @Test func truncatedRecordIsRefused() throws {
        let record = LogRecord(identity, .transactions([.full], firstDelivery: 1)).bytes
        for length in 0..<record.count {
            #expect(throws: BlobError.self) { try LogRecord(Array(record.prefix(length))) }
        }
        let beginning = try beginning.bytes
        for length in 0..<beginning.count {
            #expect(throws: BlobError.self) { try LogRecord(Array(beginning.prefix(length))) }
        }
        let batch = HandOverBatch(HandOverBatch.ID(sender: 1, number: 1), [[1]]).bytes
        for length in 0..<batch.count {
            #expect(throws: BlobError.self) { try HandOverBatch(Array(batch.prefix(length))) }
        }
        #expect(throws: BlobError.trailingBytes(1)) { try LogRecord(record + [0]) }
        #expect(throws: BlobError.trailingBytes(1)) { try HandOverBatch(batch + [0]) }
    }

    @Test func otherVersionsAreNamed() throws {
        let record = try beginning.bytes
        #expect(throws: BlobError.unknownVersion(4)) { try LogRecord([4] + record.dropFirst()) }
        #expect(throws: BlobError.unknownVersion(7)) { try PartitionState(snapshot: [7]) }
        #expect(throws: BlobError.unknownVersion(0)) { try HandOverBatch([0]) }
    }

    /// The reader checks a count against the available bytes before it allocates memory.
    @Test func untrustedCountsAreChecked() throws {
        let head = Array(LogRecord(identity, .transactions([], firstDelivery: 1)).bytes.dropLast(2))
        let endless: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]
        #expect(throws: BlobError.truncated(offset: head.count)) { try LogRecord(head + endless) }
        let batch = HandOverBatch(HandOverBatch.ID(sender: 1, number: 1), []).bytes.dropLast()
        #expect(throws: BlobError.truncated(offset: batch.count)) { try HandOverBatch(batch + endless) }
    }

    /// Any changed byte is read or rejected, without a crash.
    @Test func changedBytesDoNotTrap() throws {
        var state = PartitionState()
        try state.apply(beginningOfAll())
        try state.apply(
            LogRecord(LogRecord.Identity(epoch: 1, author: 9, index: 1), .transactions([.full], firstDelivery: 1))
        )
        let record = LogRecord(identity, .transactions([.full, .full], firstDelivery: 1)).bytes
        let snapshot = state.snapshot()
        var random = SeededGenerator(seed: 1)
        var refused = 0
        for _ in 0..<4_000 {
            var (bytes, other) = (record, snapshot)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
                other[Int.random(in: 0..<other.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            if let read = try? LogRecord(bytes) {
                var copy = state
                try? copy.apply(read)
            } else {
                refused += 1
            }
            if (try? PartitionState(snapshot: other)) == nil { refused += 1 }
        }
        #expect(refused > 1_000)
    }
}

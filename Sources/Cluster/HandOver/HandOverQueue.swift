import Core
import Delivery
import DequeModule

/// A queue of events that a member read for one partition and sends to its owner. A pure state machine.
///
/// A limited number of batches is in flight; later events become the next batch. With one, events arrive in order; with
/// several, an event that waits for its context does not delay the others. A batch is repeated under its id until an
/// owner confirms it: the former owner may have kept it although its response was lost.
struct HandOverQueue: Sendable {
    struct Limits: Sendable {
        /// The maximum size of a batch, in bytes and items.
        var batchBytes = 384 << 10
        var batchItems = 1_024
        /// The maximum of batches in flight.
        var batches = 1
        /// Sources must wait once the queue has this many bytes.
        var waitingBytes = 4 << 20
        /// The delay before an unanswered batch is sent again; doubles from `first` to `longest`.
        var pause: (first: Duration, longest: Duration) = (.milliseconds(50), .seconds(1))
    }

    enum Action: Equatable, Sendable {
        /// Send this batch to the partition's owner.
        case send(HandOverBatch)
        /// The owner has stored these items; they are named by the tokens passed to ``add(_:token:)``.
        case kept([UInt64])
    }

    enum Result: Hashable, Sendable {
        case kept
        case later
        /// The owner did not respond in time.
        case unanswered
    }

    private struct Item: Sendable {
        let token: UInt64
        let bytes: [UInt8]
    }

    private struct UnderWay: Sendable {
        let batch: HandOverBatch
        let tokens: [UInt64]
        var retryAt: Deadline?
        var pause: Duration?
    }

    private let sender: UInt64
    private let limits: Limits
    private var waiting: Deque<Item> = []
    private var waitingBytes = 0
    private var lastNumber: UInt64 = 0
    private var underWay: [UInt64: UnderWay] = [:]

    /// `sender`: the member's incarnation.
    init(sender: UInt64, limits: Limits = Limits()) {
        self.sender = sender
        self.limits = limits
    }

    /// Whether sources should wait.
    var isFull: Bool { waitingBytes >= limits.waitingBytes }

    var isEmpty: Bool { waiting.isEmpty && underWay.isEmpty }

    var nextDeadline: Deadline? { underWay.values.compactMap(\.retryAt).min() }

    /// `token` identifies the item to the caller.
    mutating func add(_ bytes: [UInt8], token: UInt64) -> [Action] {
        waiting.append(Item(token: token, bytes: bytes))
        waitingBytes += bytes.count
        return sendNext()
    }

    /// Records the result of a batch in flight.
    mutating func ended(_ number: UInt64, _ result: Result, now: Deadline) -> [Action] {
        guard var ended = underWay[number] else { return [] }
        guard result == .kept else {
            guard ended.retryAt == nil else { return [] }
            let next = ended.pause.map { min($0 * 2, limits.pause.longest) } ?? limits.pause.first
            (ended.pause, ended.retryAt) = (next, now + next)
            underWay[number] = ended
            return []
        }
        underWay[number] = nil
        waitingBytes -= ended.batch.items.reduce(0) { $0 + $1.count }
        return [.kept(ended.tokens)] + sendNext()
    }

    /// Sends unanswered events to the new owner immediately. The first response counts, from either owner.
    mutating func ownerChanged(now: Deadline) -> [Action] {
        for number in underWay.keys {
            underWay[number]?.pause = nil
            underWay[number]?.retryAt = now
        }
        return tick(now: now)
    }

    mutating func tick(now: Deadline) -> [Action] {
        let due = underWay.values.filter { $0.retryAt.map { now >= $0 } ?? false }.map(\.batch)
            .sorted { $0.id.number < $1.id.number }
        for batch in due { underWay[batch.id.number]?.retryAt = nil }
        return due.map { .send($0) }
    }

    private mutating func sendNext() -> [Action] {
        guard underWay.count < limits.batches, !waiting.isEmpty else { return [] }
        var (items, tokens, size): ([[UInt8]], [UInt64], Int) = ([], [], 0)
        while let next = waiting.first, items.isEmpty || size + next.bytes.count <= limits.batchBytes,
            items.count < limits.batchItems
        {
            waiting.removeFirst()
            items.append(next.bytes)
            tokens.append(next.token)
            size += next.bytes.count
        }
        lastNumber += 1
        let batch = HandOverBatch(HandOverBatch.ID(sender: sender, number: lastNumber), items)
        underWay[lastNumber] = UnderWay(batch: batch, tokens: tokens)
        return [.send(batch)]
    }
}

/// Tracks the batches that the owner of a partition received, until it can respond.
struct HandOverReceiver<Reply> {
    /// The maximum of requests to answer for a batch: the member has given up older ones.
    private static var maxReplies: Int { 4 }

    fileprivate struct Batch {
        var replies: [Reply]
        /// The commit that must be stored before the response; nil: not known yet.
        var commit: UInt64?
    }

    private var batches: [HandOverBatch.ID: Batch] = [:]
    private var kept: UInt64 = 0
    private let limit: Int

    /// `limit` is the maximum of batches without a response.
    init(limit: Int = 256) { self.limit = limit }

    /// Whether a batch can be accepted; members retry rejected ones.
    func hasCapacity(for id: HandOverBatch.ID) -> Bool { batches.count < limit || batches[id] != nil }

    /// Whether to process a batch: a repeated one in progress only gets the same response.
    mutating func receive(_ id: HandOverBatch.ID, reply: Reply) -> Bool {
        guard batches[id] == nil else {
            batches[id]?.replies.append(reply)
            if let count = batches[id]?.replies.count, count > Self.maxReplies { batches[id]?.replies.removeFirst() }
            return false
        }
        batches[id] = Batch(replies: [reply])
        return true
    }

    /// Notes that the batch's results are committed. The response is due when `commit` is stored. Returns the requests
    /// to answer now, and the response.
    ///
    /// Without a lease, another owner may hold the deliveries that a deletion withdraws, so the sender must ask again.
    /// Transactions that were appended remain valid in any case.
    mutating func worked(
        _ id: HandOverBatch.ID,
        awaiting commit: UInt64,
        hasLease: Bool
    ) -> (answer: HandOverAnswer, replies: [Reply]) {
        guard commit > kept else { return (hasLease ? .kept : .later, batches.removeValue(forKey: id)?.replies ?? []) }
        batches[id]?.commit = commit
        return (.kept, [])
    }

    /// Drops a batch that cannot be processed now. Returns the requests to answer.
    mutating func refused(_ id: HandOverBatch.ID) -> [Reply] { batches.removeValue(forKey: id)?.replies ?? [] }

    /// Notes that everything up to `commit` is stored. Returns the requests to answer.
    mutating func kept(through commit: UInt64) -> [Reply] {
        kept = max(kept, commit)
        let done = batches.filter { $0.value.commit.map { $0 <= kept } ?? false }
        for id in done.keys { batches[id] = nil }
        return done.sorted { ($0.key.sender, $0.key.number) < ($1.key.sender, $1.key.number) }.flatMap(\.value.replies)
    }
}

extension HandOverReceiver.Batch: Sendable where Reply: Sendable {}
extension HandOverReceiver: Sendable where Reply: Sendable {}

/// A batch of events that a member read and sends to the owner of a partition.
///
/// A batch: version 1 (1 byte), the sender's incarnation (8 bytes, big-endian), its number (LEB128), a count, and each
/// item as its length and bytes. A response: version 1, and 1 byte: 0 kept, 1 later. If the owner has notes about
/// items, a count follows, and each note as the item's index in the batch, its length and bytes.
struct HandOverBatch: Hashable, Sendable {
    static let formatVersion: UInt8 = 1

    struct ID: Hashable, Sendable {
        var sender: UInt64
        var number: UInt64
    }

    var id: ID
    var items: [[UInt8]]

    init(_ id: ID, _ items: [[UInt8]]) {
        self.id = id
        self.items = items
    }

    var bytes: [UInt8] {
        var writer = BlobWriter(capacity: 24 + items.reduce(0) { $0 + $1.count + 3 })
        writer.write(byte: Self.formatVersion)
        writer.write(fixed: (0..<8).map { UInt8(truncatingIfNeeded: id.sender >> UInt64(56 - 8 * $0)) })
        writer.write(id.number)
        writer.write(items) { $0.write(blob: $1) }
        return writer.bytes
    }

    /// Decodes ``bytes``; the input is untrusted.
    init(_ bytes: [UInt8]) throws(BlobError) {
        self = try BlobReader.reading(bytes) { reader throws(BlobError) in
            let version = try reader.byte()
            guard version == Self.formatVersion else { throw .unknownVersion(version) }
            let sender = try reader.fixed(8).reduce(0) { $0 << 8 | UInt64($1) }
            let id = ID(sender: sender, number: try reader.integer())
            let batch = HandOverBatch(id, try reader.list { reader throws(BlobError) in try reader.blob() })
            try reader.end()
            return batch
        }
    }
}

/// An owner's response to a batch. A member that is no longer the owner sends no response.
enum HandOverAnswer: UInt8, Hashable, Sendable {
    /// All results of the batch are in the partition's log.
    case kept = 0
    /// The owner has no capacity now: the sender must retry.
    case later = 1

    func bytes(with notes: HandOverNotes = [:]) -> [UInt8] {
        var bytes = [HandOverBatch.formatVersion, rawValue]
        guard !notes.isEmpty else { return bytes }
        var writer = BlobWriter(capacity: notes.reduce(8) { $0 + $1.value.count + 8 })
        writer.write(notes.sorted { $0.key < $1.key }) { writer, note in
            writer.write(UInt64(note.key))
            writer.write(blob: note.value)
        }
        bytes += writer.bytes
        return bytes
    }

    /// Decodes a response and its notes from untrusted bytes; nil if they are not valid.
    static func read(_ bytes: [UInt8]) -> (answer: HandOverAnswer, notes: HandOverNotes)? {
        guard bytes.count >= 2, bytes[0] == HandOverBatch.formatVersion, let answer = HandOverAnswer(rawValue: bytes[1])
        else { return nil }
        guard bytes.count > 2 else { return (answer, [:]) }
        let notes = try? BlobReader.reading(Array(bytes.dropFirst(2))) { reader throws(BlobError) in
            let notes = try reader.list { reader throws(BlobError) in
                (Int(truncatingIfNeeded: try reader.integer()), try reader.blob())
            }
            try reader.end()
            return notes
        }
        return notes.map { (answer, HandOverNotes($0) { first, _ in first }) }
    }
}

/// An owner's notes about items of a batch, by position in it. Only the sender interprets them.
typealias HandOverNotes = [Int: [UInt8]]

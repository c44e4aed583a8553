import DequeModule
import Units

/// What a member has read for one partition and hands over to its owner. Pure: its owner sends, and says how it ended.
///
/// So many batches are on their way at a time; what comes meanwhile becomes the next. With one, events arrive in order;
/// with several, events that an owner lets wait for their context hold up nobody else. A batch is repeated under its id
/// until an owner says that it is kept: the former owner may have kept it without being heard.
package struct HandOverQueue: Sendable {
    package struct Limits: Sendable {
        /// A batch takes at most so many bytes and items.
        package var batchBytes = 384 << 10
        package var batchItems = 1_024
        /// Batches on their way at a time.
        package var batches = 1
        /// From so many bytes on sources wait.
        package var waitingBytes = 4 << 20
        /// After a batch without an answer; doubles.
        package var pause: (first: Duration, longest: Duration) = (.milliseconds(50), .seconds(1))

        package init() {}
    }

    package enum Action: Equatable, Sendable {
        /// Ask the partition's owner to keep this.
        case send(HandOverBatch)
        /// These are kept, by the tokens they were added with.
        case kept([UInt64])
    }

    package enum Result: Hashable, Sendable {
        case kept
        case later
        /// Nobody answers, or not in time.
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
    package init(sender: UInt64, limits: Limits = Limits()) {
        self.sender = sender
        self.limits = limits
    }

    /// Whether sources should wait.
    package var isFull: Bool { waitingBytes >= limits.waitingBytes }

    package var isEmpty: Bool { waiting.isEmpty && underWay.isEmpty }

    package var nextDeadline: Deadline? { underWay.values.compactMap(\.retryAt).min() }

    /// `token` names the item to whoever added it.
    package mutating func add(_ bytes: [UInt8], token: UInt64) -> [Action] {
        waiting.append(Item(token: token, bytes: bytes))
        waitingBytes += bytes.count
        return sendNext()
    }

    /// A batch that is under way got an answer, or none.
    package mutating func ended(_ number: UInt64, _ result: Result, now: Deadline) -> [Action] {
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

    /// Somebody else is to be asked from now on: what was sent to the former owner goes out again at once. Whichever
    /// answer comes first counts.
    package mutating func ownerChanged(now: Deadline) -> [Action] {
        for number in underWay.keys {
            underWay[number]?.pause = nil
            underWay[number]?.retryAt = now
        }
        return tick(now: now)
    }

    package mutating func tick(now: Deadline) -> [Action] {
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

/// The batches that the owner of a partition was asked to keep, until it can answer.
package struct HandOverReceiver<Reply> {
    /// Whoever asks so often has given the first ones up.
    private static var mostReplies: Int { 4 }

    fileprivate struct Batch {
        var replies: [Reply]
        /// The commit that has to be kept before the answer; nil: not known yet.
        var commit: UInt64?
    }

    private var batches: [HandOverBatch.ID: Batch] = [:]
    private var kept: UInt64 = 0
    private let limit: Int

    /// `limit`: batches that wait for an answer at a time.
    package init(limit: Int = 256) { self.limit = limit }

    /// Whether a batch may come in: members ask again for what is not taken.
    package func hasCapacity(for id: HandOverBatch.ID) -> Bool { batches.count < limit || batches[id] != nil }

    /// Whether a batch is to be worked on: a repetition of one that is under way only gets the same answer.
    package mutating func receive(_ id: HandOverBatch.ID, reply: Reply) -> Bool {
        guard batches[id] == nil else {
            batches[id]?.replies.append(reply)
            if let count = batches[id]?.replies.count, count > Self.mostReplies { batches[id]?.replies.removeFirst() }
            return false
        }
        batches[id] = Batch(replies: [reply])
        return true
    }

    /// What the batch leads to is committed, or was before: the answer goes out when `commit` is kept. Returns the
    /// requests to answer now, and how.
    ///
    /// Without a lease another owner may hold what a deletion takes back, so whoever asked has to ask again. What was
    /// appended is kept in any case.
    package mutating func worked(
        _ id: HandOverBatch.ID,
        awaiting commit: UInt64,
        hasLease: Bool
    ) -> (answer: HandOverAnswer, replies: [Reply]) {
        guard commit > kept else { return (hasLease ? .kept : .later, batches.removeValue(forKey: id)?.replies ?? []) }
        batches[id]?.commit = commit
        return (.kept, [])
    }

    /// The batch cannot be taken now. Returns the requests to answer.
    package mutating func refused(_ id: HandOverBatch.ID) -> [Reply] { batches.removeValue(forKey: id)?.replies ?? [] }

    /// Everything up to `commit` is kept. Returns the requests to answer.
    package mutating func kept(through commit: UInt64) -> [Reply] {
        kept = max(kept, commit)
        let done = batches.filter { $0.value.commit.map { $0 <= kept } ?? false }
        for id in done.keys { batches[id] = nil }
        return done.sorted { ($0.key.sender, $0.key.number) < ($1.key.sender, $1.key.number) }.flatMap(\.value.replies)
    }
}

extension HandOverReceiver.Batch: Sendable where Reply: Sendable {}
extension HandOverReceiver: Sendable where Reply: Sendable {}

/// How far a relay has been read such that everything before is kept somewhere: where reading goes on after a crash.
package struct ReadingMark: Sendable {
    private var open: Set<UInt64> = []
    private var places: Deque<(place: UInt64, value: Int64)> = []
    /// The value of the last place before which everything is kept; nil: of none yet.
    package private(set) var value: Int64?

    package init() {}

    /// Something was read at `value`, such as a date; `place` rises by each.
    package mutating func began(_ place: UInt64, value: Int64) {
        open.insert(place)
        places.append((place, value))
    }

    /// It is kept, or leads to nothing. Returns whether ``value`` moved.
    package mutating func ended(_ place: UInt64) -> Bool {
        open.remove(place)
        let before = value
        while let first = places.first, !open.contains(first.place) {
            places.removeFirst()
            value = max(value ?? .min, first.value)
        }
        return value != before
    }
}

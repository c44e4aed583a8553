import Cipher
import Delivery
import DequeModule
import Units

/// The replicated log of one partition, in the hands of the member that has its lease. Pure: its owner carries the
/// questions to the storage and the answers back.
///
/// It reads the newest snapshot and the records behind it, and appends the beginning of its epoch on the condition that
/// nothing came since. From then on every append of a former owner fails: this is the fence. One append is on its way
/// at a time, since the next condition is known only from its answer; what comes meanwhile shares the next record. An
/// append whose answer did not come is repeated with the same id and condition; if the condition no longer holds, the
/// record behind it tells whether it was stored after all.
package struct PartitionLog: Sendable {
    package struct Settings: Sendable {
        /// A snapshot follows after so many records, or so many bytes of them.
        package var snapshotRecords = 512
        package var snapshotBytes = 16 << 20
        package var partSize = SnapshotHead.partSize
        package var limits = PartitionState.Limits()
        /// Between two tries of what did not succeed; doubles up to the second.
        package var pause: (first: Duration, longest: Duration) = (.milliseconds(50), .seconds(1))
        /// Contradictions in a row before it counts as damaged. A snapshot may be replaced while it is read.
        package var mostContradictions = 5

        package init() {}
    }

    package enum Action: Equatable, Sendable {
        /// The answer belongs to ``PartitionLog/answered(_:_:now:)`` with the same ticket.
        case ask(LogQuestion, ticket: Int)
        /// The epoch has begun: transactions may be committed.
        case opened
        /// Everything up to these is kept, the last of them included.
        case committed([Commit])
        /// Everything is kept and in a snapshot.
        case finished
        /// Whatever was not acknowledged may be kept or not.
        case closed(PartitionLogError)
    }

    /// A transaction that is kept.
    package struct Commit: Hashable, Sendable {
        /// As ``PartitionLog/commit(_:now:)`` returned it.
        package var number: UInt64
        /// The number of its first delivery.
        package var firstDelivery: Int64
        package var deliveries: [Delivery]

        package init(number: UInt64, firstDelivery: Int64, deliveries: [Delivery]) {
            self.number = number
            self.firstDelivery = firstDelivery
            self.deliveries = deliveries
        }
    }

    private struct Pending: Sendable {
        let number: UInt64
        let transaction: LogTransaction
        let bytes: [UInt8]

        var size: Int { bytes.count + transaction.lettersSize }
    }

    private struct Append: Sendable {
        let record: LogRecord
        let commits: [Commit]
        let byteCount: Int
        let question: LogQuestion
    }

    private enum Phase: Sendable {
        case readingHead
        case readingParts(SnapshotHead, [UInt8], next: Int)
        case readingRecords
        case claiming(LogRecord)
        case ready
        case appending(Append)
        /// Whether the append was stored is being found out.
        case checking(Append)
        case closed
    }

    private enum SnapshotPhase: Sendable {
        case idle
        case storing(SnapshotHead, [[UInt8]], next: Int, firstSequence: UInt64)
        case storingHead(SnapshotHead, firstSequence: UInt64)
        case checkingHead(SnapshotHead, firstSequence: UInt64)
        case purging
    }

    /// Questions one after the other: the one that waits for its answer, or for its next try.
    private struct Line: Sendable {
        var question: LogQuestion?
        var ticket = 0
        var retryAt: Deadline?
        var pause: Duration?
    }

    private let partition: Int
    private let member: MemberName
    private let author: UInt64
    private let settings: Settings
    package private(set) var state: PartitionState
    private var phase = Phase.readingHead
    private var main = Line()
    private var side = Line()
    private var snapshotPhase = SnapshotPhase.idle
    private var lastTicket = 0
    /// The sequence of the last record in ``state``.
    package private(set) var position: UInt64 = 0
    private var headRevision: UInt64 = 0
    private var contradictions = 0
    /// The last beginning that was appended, or may have been.
    private var claimed: LogRecord.Identity?
    private var queue: Deque<Pending> = []
    /// Marks of relays that are not on their way; of each relay the last one.
    private var marks: [String: RelayMark] = [:]
    /// The oldest version that a living member reads: newer ones are not written.
    private var wire = LogRecord.formatVersion
    private var lastCommit: UInt64 = 0
    private var recordsSinceSnapshot = 0
    private var bytesSinceSnapshot = 0
    private var isSnapshotDue = false
    private var isFinishing = false

    /// `author` is the incarnation of `member`.
    package init(partition: Int, member: MemberName, author: UInt64, settings: Settings = Settings()) {
        self.partition = partition
        self.member = member
        self.author = author
        self.settings = settings
        state = PartitionState(limits: settings.limits)
    }

    // MARK: What is known

    package var isOpen: Bool {
        switch phase {
        case .ready, .appending, .checking: true
        default: false
        }
    }

    /// The number that the last transaction got: everything up to it is kept once this is.
    package var lastCommitted: UInt64 { lastCommit }

    /// Whether everything that was committed is kept.
    package var isIdle: Bool { if case .ready = phase { queue.isEmpty && !hasMarks } else { false } }

    /// Whether there are marks that may be written.
    private var hasMarks: Bool { !marks.isEmpty && wire >= LogRecord.versionOfMarks }

    /// Bytes of transactions that wait.
    package var waitingBytes: Int { queue.reduce(0) { $0 + $1.bytes.count } }

    package var nextDeadline: Deadline? { [main.retryAt, side.retryAt].compactMap(\.self).min() }

    // MARK: What its owner wants

    package mutating func open(now: Deadline) -> [Action] { [askMain(.head)] }

    /// Keeps a transaction. Returns its number, which ``Action/committed(_:)`` names.
    package mutating func commit(
        _ transaction: LogTransaction,
        now: Deadline
    ) throws(PartitionLogError) -> (number: UInt64, actions: [Action]) {
        guard isOpen, !isFinishing else { throw .notOpen }
        let bytes = transaction.bytes
        let size = bytes.count + transaction.lettersSize
        guard size + LogRecord.headSize <= LogRecord.longest else { throw .tooLong(size) }
        lastCommit += 1
        queue.append(Pending(number: lastCommit, transaction: transaction, bytes: bytes))
        return (lastCommit, appendNext())
    }

    /// Keeps how far relays were read. Nobody learns when that is done: an older mark costs reading again.
    package mutating func note(_ marks: [RelayMark], now: Deadline) -> [Action] {
        guard isOpen, !isFinishing else { return [] }
        for mark in marks where state.relays[mark.relay] != mark.moment { self.marks[mark.relay] = mark }
        return appendNext()
    }

    /// Writes what members of this version read. For an older one than before, everything is written anew, so that they
    /// can take over.
    package mutating func speak(_ wire: Int, now: Deadline) -> [Action] {
        guard wire != self.wire else { return [] }
        let isOlder = wire < self.wire
        self.wire = wire
        guard isOpen else { return [] }
        if isOlder { isSnapshotDue = true }
        return appendNext() + snapshotIfDue()
    }

    /// Takes nothing more. ``Action/finished`` comes when everything is kept and in a snapshot.
    package mutating func finish(now: Deadline) -> [Action] {
        guard !isFinishing else { return [] }
        isFinishing = true
        return isOpen ? snapshotIfDue() : close(.released)
    }

    /// Stops at once.
    package mutating func close(_ error: PartitionLogError) -> [Action] {
        if case .closed = phase { return [] }
        phase = .closed
        snapshotPhase = .idle
        (main, side, queue, marks) = (Line(), Line(), [], [:])
        return [.closed(error)]
    }

    package mutating func tick(now: Deadline) -> [Action] {
        var actions: [Action] = []
        if let retryAt = main.retryAt, now >= retryAt, let question = main.question {
            actions.append(askMain(question, isRepeated: true))
        }
        if let retryAt = side.retryAt, now >= retryAt, let question = side.question {
            actions.append(askSide(question, isRepeated: true))
        }
        return actions
    }

    // MARK: Asking

    private mutating func askMain(_ question: LogQuestion, isRepeated: Bool = false) -> Action {
        lastTicket += 1
        main = Line(question: question, ticket: lastTicket, pause: isRepeated ? main.pause : nil)
        return .ask(question, ticket: lastTicket)
    }

    private mutating func askSide(_ question: LogQuestion, isRepeated: Bool = false) -> Action {
        lastTicket += 1
        side = Line(question: question, ticket: lastTicket, pause: isRepeated ? side.pause : nil)
        return .ask(question, ticket: lastTicket)
    }

    private func later(_ line: inout Line, _ now: Deadline) {
        let pause = line.pause.map { min($0 * 2, settings.pause.longest) } ?? settings.pause.first
        line.pause = pause
        line.retryAt = now + pause
    }

    package mutating func answered(_ ticket: Int, _ answer: LogAnswer, now: Deadline) -> [Action] {
        if ticket == main.ticket, main.retryAt == nil {
            guard answer != .unavailable else {
                later(&main, now)
                return []
            }
            guard answer != .full else {
                later(&main, now)
                // A snapshot makes space.
                isSnapshotDue = isSnapshotDue || recordsSinceSnapshot > 0
                return snapshotIfDue(isFull: true)
            }
            return mainAnswered(answer, now)
        }
        if ticket == side.ticket, side.retryAt == nil {
            guard answer != .unavailable, answer != .full else {
                later(&side, now)
                return []
            }
            return sideAnswered(answer, now)
        }
        return []
    }

    private mutating func mainAnswered(_ answer: LogAnswer, _ now: Deadline) -> [Action] {
        switch (phase, answer) {
        case (.readingHead, .head(let head, let revision)): return take(head, revision, now)
        case (.readingParts(let head, let bytes, let next), .part(let part)):
            return take(part, next, of: head, bytes, now)
        case (.readingRecords, .records(let records, let isLast)): return take(records, isLast: isLast, now)
        case (.claiming(let record), .stored(let sequence)):
            return begin(record, at: sequence, now)
        case (.claiming, .conflict):
            phase = .readingRecords
            return [askMain(.records(after: position))]
        case (.appending(let append), .stored(let sequence)): return stored(append, at: sequence, now)
        case (.appending(let append), .conflict):
            phase = .checking(append)
            return [askMain(.records(after: position))]
        case (.checking(let append), .records(let records, _)):
            guard let first = records.first else {
                // Whoever was asked is behind, or the append is refused for as long as another one is looked at.
                phase = .appending(append)
                main.question = append.question
                later(&main, now)
                return []
            }
            let isStored = (try? LogRecord(first.bytes))?.identity == append.record.identity
            return isStored ? stored(append, at: first.sequence, now) : close(.fenced)
        default: return contradiction("an answer that does not fit", now)
        }
    }

    // MARK: Opening

    private mutating func take(_ head: SnapshotHead?, _ revision: UInt64, _ now: Deadline) -> [Action] {
        headRevision = revision
        guard let head else {
            state = PartitionState(limits: settings.limits)
            position = 0
            phase = .readingRecords
            return [askMain(.records(after: 0))]
        }
        guard head.isPlausible else { return contradiction("its snapshot's head has impossible numbers", now) }
        phase = .readingParts(head, [], next: 0)
        return head.parts == 0 ? finishParts(of: head, [], now) : [askMain(.part(name: head.name, index: 0))]
    }

    private mutating func take(
        _ part: [UInt8]?,
        _ index: Int,
        of head: SnapshotHead,
        _ bytes: [UInt8],
        _ now: Deadline
    ) -> [Action] {
        guard let part, bytes.count + part.count <= head.byteCount else {
            return contradiction("a part of its snapshot is missing", now)
        }
        guard index + 1 == head.parts else {
            phase = .readingParts(head, bytes + part, next: index + 1)
            return [askMain(.part(name: head.name, index: index + 1))]
        }
        return finishParts(of: head, bytes + part, now)
    }

    private mutating func finishParts(of head: SnapshotHead, _ bytes: [UInt8], _ now: Deadline) -> [Action] {
        guard bytes.count == head.byteCount, Hex.encode(SHA256.hash(bytes)) == head.sha256 else {
            return contradiction("its snapshot is not what its head says", now)
        }
        do throws(BlobError) {
            state = try PartitionState(snapshot: bytes, limits: settings.limits)
        } catch {
            return refuse(error)
        }
        position = head.sequence
        phase = .readingRecords
        return [askMain(.records(after: position))]
    }

    private mutating func take(_ records: [LogAnswer.Record], isLast: Bool, _ now: Deadline) -> [Action] {
        for stored in records {
            guard stored.sequence > position else { continue }
            let record: LogRecord
            do throws(BlobError) {
                record = try LogRecord(stored.bytes)
            } catch {
                return refuse(error)
            }
            do throws(PartitionLogError) {
                try state.apply(record)
            } catch {
                return contradiction("records are missing", now)
            }
            position = stored.sequence
            recordsSinceSnapshot += 1
            bytesSinceSnapshot += stored.bytes.count
        }
        guard isLast else { return [askMain(.records(after: position))] }
        let last = state.identity
        // The attempt to begin may have been stored although its answer was lost.
        if last == claimed { return ready() }
        let record = LogRecord(
            LogRecord.Identity(epoch: last.epoch + 1, author: author, index: 0),
            .beginning(
                LogRecord.Beginning(
                    previousEpoch: last.epoch,
                    previousIndex: last.index,
                    member: member,
                    idleEpochs: last.index == 0 && last.epoch > 0 ? state.idleEpochs + 1 : 0
                )
            )
        )
        claimed = record.identity
        phase = .claiming(record)
        let messageID = record.identity.messageID(in: partition)
        return [askMain(.append(record.bytes, messageID: messageID, expected: position))]
    }

    private mutating func begin(_ record: LogRecord, at sequence: UInt64, _ now: Deadline) -> [Action] {
        guard sequence > position, (try? state.apply(record)) != nil else {
            return contradiction("a beginning was stored at the wrong place", now)
        }
        position = sequence
        recordsSinceSnapshot += 1
        return ready()
    }

    private mutating func ready() -> [Action] {
        phase = .ready
        contradictions = 0
        main = Line()
        // What a newer version wrote may be there from before.
        isSnapshotDue = wire < LogRecord.versionOfMarks && !state.relays.isEmpty
        return [.opened] + (isFinishing || isSnapshotDue ? snapshotIfDue() : [])
    }

    /// Reads everything anew, after a pause.
    private mutating func contradiction(_ what: String, _ now: Deadline) -> [Action] {
        contradictions += 1
        guard contradictions <= settings.mostContradictions else { return close(.damaged(what)) }
        phase = .readingHead
        recordsSinceSnapshot = 0
        bytesSinceSnapshot = 0
        main.question = .head
        later(&main, now)
        return []
    }

    private mutating func refuse(_ error: BlobError) -> [Action] {
        if case .unknownVersion = error { return close(.newerFormat) }
        return close(.damaged("\(error)"))
    }

    // MARK: Appending

    private mutating func appendNext() -> [Action] {
        guard case .ready = phase else { return [] }
        guard !queue.isEmpty else { return hasMarks ? appendMarks() : [] }
        var (size, commits): (Int, [Commit]) = (LogRecord.headSize, [])
        var (transactions, encoded): ([LogTransaction], [[UInt8]]) = ([], [])
        var firstDelivery = state.nextDelivery
        while let next = queue.first, size + next.size <= LogRecord.longest {
            queue.removeFirst()
            size += next.size
            let deliveries = next.transaction.deliveries
            commits.append(Commit(number: next.number, firstDelivery: firstDelivery, deliveries: deliveries))
            firstDelivery += Int64(deliveries.count)
            transactions.append(next.transaction)
            encoded.append(next.bytes)
        }
        var identity = state.identity
        identity.index += 1
        let bytes = LogRecord.bytes(
            identity,
            encoded,
            letters: transactions.map(\.letters),
            firstDelivery: state.nextDelivery
        )
        let question = LogQuestion.append(bytes, messageID: identity.messageID(in: partition), expected: position)
        let record = LogRecord(identity, .transactions(transactions, firstDelivery: state.nextDelivery))
        phase = .appending(Append(record: record, commits: commits, byteCount: bytes.count, question: question))
        return [askMain(question)]
    }

    private mutating func appendMarks() -> [Action] {
        var (size, taken): (Int, [RelayMark]) = (LogRecord.headSize, [])
        for mark in marks.values.sorted(by: { $0.relay < $1.relay }) {
            size += mark.relay.utf8.count + 16
            guard size <= LogRecord.longest else { break }
            taken.append(mark)
        }
        for mark in taken { marks[mark.relay] = nil }
        var identity = state.identity
        identity.index += 1
        let record = LogRecord(identity, .marks(taken))
        let bytes = record.bytes
        let question = LogQuestion.append(bytes, messageID: identity.messageID(in: partition), expected: position)
        phase = .appending(Append(record: record, commits: [], byteCount: bytes.count, question: question))
        return [askMain(question)]
    }

    private mutating func stored(_ append: Append, at sequence: UInt64, _ now: Deadline) -> [Action] {
        guard sequence > position, (try? state.apply(append.record)) != nil else {
            return close(.damaged("a record was stored at the wrong place"))
        }
        position = sequence
        recordsSinceSnapshot += 1
        bytesSinceSnapshot += append.byteCount
        phase = .ready
        main = Line()
        let committed: [Action] = append.commits.isEmpty ? [] : [.committed(append.commits)]
        return committed + appendNext() + snapshotIfDue()
    }

    // MARK: Snapshots

    /// `isFull`: the log takes nothing more. Then even the beginning of an epoch may wait for a snapshot, which says
    /// nothing but what is in the log whoever writes it.
    private mutating func snapshotIfDue(isFull: Bool = false) -> [Action] {
        var isClaiming = false
        if case .claiming = phase { isClaiming = true }
        guard case .idle = snapshotPhase, isOpen || (isFull && isClaiming) else { return [] }
        if isFinishing {
            guard isIdle || (isFull && isSnapshotDue) else { return [] }
            guard isSnapshotDue || recordsSinceSnapshot > 0 else { return [.finished] }
        } else {
            let isDue =
                isSnapshotDue || recordsSinceSnapshot >= settings.snapshotRecords
                || bytesSinceSnapshot >= settings.snapshotBytes
            guard isDue else { return [] }
        }
        let bytes = state.snapshot(wire: wire)
        let parts = stride(from: 0, to: bytes.count, by: settings.partSize).map {
            Array(bytes[$0..<min($0 + settings.partSize, bytes.count)])
        }
        guard parts.count <= SnapshotHead.mostParts else { return [] }
        let identity = state.identity
        let head = SnapshotHead(
            // A former owner may be writing the same.
            name: "\(identity.epoch)-\(String(author, radix: 16))-\(identity.index)",
            parts: parts.count,
            byteCount: bytes.count,
            sha256: Hex.encode(SHA256.hash(bytes)),
            sequence: position,
            epoch: identity.epoch
        )
        isSnapshotDue = false
        recordsSinceSnapshot = 0
        bytesSinceSnapshot = 0
        snapshotPhase = .storing(head, parts, next: 0, firstSequence: 0)
        return [askSide(.storePart(name: head.name, index: 0, parts[0]))]
    }

    private mutating func sideAnswered(_ answer: LogAnswer, _ now: Deadline) -> [Action] {
        switch (snapshotPhase, answer) {
        case (.storing(let head, let parts, let index, let first), .stored(let sequence)):
            let first = index == 0 ? sequence : first
            guard index + 1 < parts.count else {
                snapshotPhase = .storingHead(head, firstSequence: first)
                return [askSide(.storeHead(head, over: headRevision))]
            }
            snapshotPhase = .storing(head, parts, next: index + 1, firstSequence: first)
            return [askSide(.storePart(name: head.name, index: index + 1, parts[index + 1]))]
        case (.storingHead(let head, let first), .stored(let revision)):
            headRevision = revision
            snapshotPhase = .purging
            return [askSide(.purge(log: head.sequence, snapshots: first))]
        case (.storingHead(let head, let first), .conflict):
            snapshotPhase = .checkingHead(head, firstSequence: first)
            return [askSide(.head)]
        case (.checkingHead(let head, let first), .head(let stored, let revision)):
            // A former owner's last snapshot may be late. A later owner's means that this one is none any more.
            if let stored, stored.epoch > head.epoch { return close(.fenced) }
            headRevision = revision
            guard stored == head else {
                // With its own, the former owner may drop parts that were stored before it, such as these.
                (snapshotPhase, side, isSnapshotDue) = (.idle, Line(), true)
                return snapshotIfDue()
            }
            snapshotPhase = .purging
            return [askSide(.purge(log: head.sequence, snapshots: first))]
        case (.purging, _):
            snapshotPhase = .idle
            side = Line()
            return snapshotIfDue()
        default:
            // It is not needed for the moment: the next one is due after as many records again.
            snapshotPhase = .idle
            side = Line()
            return isFinishing && isIdle ? [.finished] : []
        }
    }
}

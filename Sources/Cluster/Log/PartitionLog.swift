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
        let encoded: EncodedTransaction
    }

    private struct Append: Sendable {
        let record: LogRecord
        let commits: [Commit]
        let bytes: [UInt8]
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
    private var snapshots = SnapshotWriter()
    private var lastTicket = 0
    /// The sequence of the last record in ``state``.
    package private(set) var position: UInt64 = 0
    private var contradictions = 0
    /// The last beginning that was appended, or may have been.
    private var claimed: LogRecord.Identity?
    private var queue: Deque<Pending> = []
    private var marks = PendingMarks()
    private var stored = StoredVersions()
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
    package var waitingBytes: Int { queue.reduce(0) { $0 + $1.encoded.size } }

    package var nextDeadline: Deadline? { [main.retryAt, side.retryAt].compactMap(\.self).min() }

    // MARK: What its owner wants

    package mutating func open(now: Deadline) -> [Action] { [askMain(.head)] }

    /// Keeps a transaction. Returns its number, which ``Action/committed(_:)`` names.
    package mutating func commit(
        _ transaction: LogTransaction,
        now: Deadline
    ) throws(PartitionLogError) -> (number: UInt64, actions: [Action]) {
        guard isOpen, !isFinishing else { throw .notOpen }
        let encoded = EncodedTransaction(transaction, sharing: wire >= LogRecord.versionOfShared)
        guard encoded.size + LogRecord.headSize <= LogRecord.longest else { throw .tooLong(encoded.size) }
        lastCommit += 1
        queue.append(Pending(number: lastCommit, transaction: transaction, encoded: encoded))
        return (lastCommit, appendNext())
    }

    /// Keeps how far relays were read. Nobody learns when that is done: an older mark costs reading again.
    package mutating func note(_ marks: [RelayMark], now: Deadline) -> [Action] {
        guard isOpen, !isFinishing else { return [] }
        for mark in marks where state.relays[mark.relay] != mark.moment { self.marks.note(mark) }
        return appendNext()
    }

    /// Writes what members of this version read. What they do not read is written anew, so that they can take over.
    package mutating func speak(_ wire: Int, now: Deadline) -> [Action] {
        guard wire != self.wire else { return [] }
        self.wire = wire
        return isOpen ? appendNext() + snapshotIfDue() : []
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
        snapshots = SnapshotWriter()
        (main, side, queue, marks) = (Line(), Line(), [], PendingMarks())
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
        case (.appending(let append), .stored(let sequence)): return appended(append, at: sequence, now)
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
            return isStored ? appended(append, at: first.sequence, now) : close(.fenced)
        default: return contradiction("an answer that does not fit", now)
        }
    }

    // MARK: Opening

    private mutating func take(_ head: SnapshotHead?, _ revision: UInt64, _ now: Deadline) -> [Action] {
        snapshots.headRevision = revision
        stored = StoredVersions()
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
        if let version = bytes.first { stored.read(version) }
        position = head.sequence
        phase = .readingRecords
        return [askMain(.records(after: position))]
    }

    private mutating func take(_ records: [LogAnswer.Record], isLast: Bool, _ now: Deadline) -> [Action] {
        for found in records {
            guard found.sequence > position else { continue }
            let record: LogRecord
            do throws(BlobError) {
                record = try LogRecord(found.bytes)
            } catch {
                return refuse(error)
            }
            do throws(PartitionLogError) {
                try state.apply(record)
            } catch {
                return contradiction("records are missing", now)
            }
            if let version = found.bytes.first { stored.read(version) }
            position = found.sequence
            recordsSinceSnapshot += 1
            bytesSinceSnapshot += found.bytes.count
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
        return [.opened] + (isFinishing || stored.newest > wire ? snapshotIfDue() : [])
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
        var (transactions, encoded): ([LogTransaction], [EncodedTransaction]) = ([], [])
        var firstDelivery = state.nextDelivery
        while let next = queue.first, size + next.encoded.size <= LogRecord.longest {
            queue.removeFirst()
            size += next.encoded.size
            let deliveries = next.transaction.deliveries
            commits.append(Commit(number: next.number, firstDelivery: firstDelivery, deliveries: deliveries))
            firstDelivery += Int64(deliveries.count)
            transactions.append(next.transaction)
            encoded.append(next.encoded)
        }
        var identity = state.identity
        identity.index += 1
        let bytes = LogRecord.bytes(identity, encoded, firstDelivery: state.nextDelivery)
        let record = LogRecord(identity, .transactions(transactions, firstDelivery: state.nextDelivery))
        return append(record, bytes, commits)
    }

    private mutating func append(_ record: LogRecord, _ bytes: [UInt8], _ commits: [Commit]) -> [Action] {
        let messageID = record.identity.messageID(in: partition)
        let question = LogQuestion.append(bytes, messageID: messageID, expected: position)
        phase = .appending(Append(record: record, commits: commits, bytes: bytes, question: question))
        return [askMain(question)]
    }

    private mutating func appendMarks() -> [Action] {
        var identity = state.identity
        identity.index += 1
        let record = LogRecord(identity, .marks(marks.takeRecord()))
        return append(record, record.bytes, [])
    }

    private mutating func appended(_ append: Append, at sequence: UInt64, _ now: Deadline) -> [Action] {
        guard sequence > position, (try? state.apply(append.record)) != nil else {
            return close(.damaged("a record was stored at the wrong place"))
        }
        position = sequence
        recordsSinceSnapshot += 1
        bytesSinceSnapshot += append.bytes.count
        if let version = append.bytes.first { stored.appended(version) }
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
        guard snapshots.isIdle, isOpen || (isFull && isClaiming) else { return [] }
        let mustBe = isSnapshotDue || stored.newest > wire
        if isFinishing {
            guard isIdle || (isFull && isSnapshotDue) else { return [] }
            guard mustBe || recordsSinceSnapshot > 0 else { return [.finished] }
        } else {
            let isDue =
                mustBe || recordsSinceSnapshot >= settings.snapshotRecords
                || bytesSinceSnapshot >= settings.snapshotBytes
            guard isDue else { return [] }
        }
        // A former owner may be writing the same under its own name.
        let name = "\(state.identity.epoch)-\(String(author, radix: 16))-\(state.identity.index)"
        let bytes = state.snapshot(wire: wire)
        guard
            let question = snapshots.begin(
                bytes,
                named: name,
                at: position,
                epoch: state.identity.epoch,
                partSize: settings.partSize
            )
        else { return [] }
        if let version = bytes.first { stored.beginSnapshot(version) }
        isSnapshotDue = false
        recordsSinceSnapshot = 0
        bytesSinceSnapshot = 0
        return [askSide(question)]
    }

    private mutating func sideAnswered(_ answer: LogAnswer, _ now: Deadline) -> [Action] {
        switch snapshots.answered(answer) {
        case .ask(let question): return [askSide(question)]
        case .kept(let question):
            stored.keptSnapshot()
            return [askSide(question)]
        case .fenced: return close(.fenced)
        case .ended:
            side = Line()
            return snapshotIfDue()
        case .lost:
            side = Line()
            isSnapshotDue = true
            return snapshotIfDue()
        case .givenUp:
            side = Line()
            return isFinishing && isIdle ? [.finished] : []
        }
    }
}

/// Marks of relays that are not on their way to the log; of each relay the last one.
private struct PendingMarks: Sendable {
    private var marks: [String: RelayMark] = [:]

    var isEmpty: Bool { marks.isEmpty }

    mutating func note(_ mark: RelayMark) { marks[mark.relay] = mark }

    /// As many as a record takes.
    mutating func takeRecord() -> [RelayMark] {
        var (size, taken): (Int, [RelayMark]) = (LogRecord.headSize, [])
        for mark in marks.values.sorted(by: { $0.relay < $1.relay }) {
            size += mark.relay.utf8.count + 16
            guard size <= LogRecord.longest else { break }
            taken.append(mark)
        }
        for mark in taken { marks[mark.relay] = nil }
        return taken
    }
}

/// The versions of what is stored of a partition: its snapshot, and the records behind it.
private struct StoredVersions: Sendable {
    /// What somebody has to read who takes the partition over.
    private(set) var newest = LogRecord.oldestVersion
    private var ofSnapshot = LogRecord.oldestVersion
    /// Of the records that came since a snapshot was begun.
    private var sinceSnapshot = LogRecord.oldestVersion

    mutating func read(_ version: UInt8) { newest = max(newest, Int(version)) }

    mutating func appended(_ version: UInt8) {
        newest = max(newest, Int(version))
        sinceSnapshot = max(sinceSnapshot, Int(version))
    }

    mutating func beginSnapshot(_ version: UInt8) {
        (ofSnapshot, sinceSnapshot) = (Int(version), LogRecord.oldestVersion)
    }

    mutating func keptSnapshot() { newest = max(ofSnapshot, sinceSnapshot) }
}

import Delivery
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
        package var pause: (first: Duration, longest: Duration) = (.milliseconds(50), .milliseconds(250))
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

    private struct Append: Sendable {
        let next: PendingRecords.Next
        let question: LogQuestion

        init(_ next: PendingRecords.Next, in partition: Int, expecting position: UInt64) {
            self.next = next
            let messageID = next.record.identity.messageID(in: partition)
            question = .append(next.bytes, messageID: messageID, expected: position)
        }
    }

    private enum Phase: Sendable {
        case reading
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
    private var contents: LogContents
    private var reader: LogReader
    private var phase = Phase.reading
    private var main = Line()
    private var side = Line()
    private var snapshots = SnapshotWriter()
    private var lastTicket = 0
    /// The last beginning that was appended, or may have been.
    private var claimed: LogRecord.Identity?
    private var pending = PendingRecords()
    /// The oldest version that a living member reads: newer ones are not written.
    private var wire = LogRecord.formatVersion
    private var isSnapshotDue = false
    private var isFinishing = false

    /// `author` is the incarnation of `member`.
    package init(partition: Int, member: MemberName, author: UInt64, settings: Settings = Settings()) {
        self.partition = partition
        self.member = member
        self.author = author
        self.settings = settings
        contents = LogContents(limits: settings.limits)
        reader = LogReader(mostContradictions: settings.mostContradictions)
    }

    // MARK: What is known

    /// Everything that is in the log, as far as it was read.
    package var state: PartitionState { contents.state }

    /// The sequence of the last record in ``state``.
    package var position: UInt64 { contents.position }

    package var isOpen: Bool {
        switch phase {
        case .ready, .appending, .checking: true
        default: false
        }
    }

    /// The number that the last transaction got: everything up to it is kept once this is.
    package var lastCommitted: UInt64 { pending.lastNumber }

    /// Whether everything that was committed is kept.
    package var isIdle: Bool { if case .ready = phase { pending.isEmpty(for: wire) } else { false } }

    /// Bytes of transactions that wait.
    package var waitingBytes: Int { pending.bytes }

    package var nextDeadline: Deadline? { [main.retryAt, side.retryAt].compactMap(\.self).min() }

    // MARK: What its owner wants

    package mutating func open(now: Deadline) -> [Action] { [askMain(reader.begin())] }

    /// Keeps a transaction. Returns its number, which ``Action/committed(_:)`` names.
    package mutating func commit(
        _ transaction: LogTransaction,
        now: Deadline
    ) throws(PartitionLogError) -> (number: UInt64, actions: [Action]) {
        guard isOpen, !isFinishing else { throw .notOpen }
        return (try pending.add(transaction, for: wire), appendNext())
    }

    /// Keeps how far relays were read. Nobody learns when that is done: an older mark costs reading again.
    package mutating func note(_ marks: [RelayMark], now: Deadline) -> [Action] {
        guard isOpen, !isFinishing else { return [] }
        for mark in marks where state.relays[mark.relay] != mark.moment { pending.note(mark) }
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
        (main, side) = (Line(), Line())
        pending.removeAll()
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
                isSnapshotDue = isSnapshotDue || contents.recordsSinceSnapshot > 0
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
        case (.reading, _):
            if case .head(_, let revision) = answer { snapshots.headRevision = revision }
            return carry(reader.answered(answer, &contents), now)
        case (.claiming(let record), .stored(let sequence)):
            return begin(record, at: sequence, now)
        case (.claiming, .conflict):
            phase = .reading
            return [askMain(reader.goOn(behind: contents))]
        case (.appending(let append), .stored(let sequence)): return appended(append, at: sequence, now)
        case (.appending(let append), .conflict):
            phase = .checking(append)
            return [askMain(.records(after: position))]
        case (.checking(let append), .records(let records, let isLast)):
            return check(append, records, isLast: isLast, now)
        default: return carry(reader.contradiction("an answer that does not fit"), now)
        }
    }

    /// What came instead of an append tells whether it was stored after all.
    private mutating func check(
        _ append: Append,
        _ records: [LogAnswer.Record],
        isLast: Bool,
        _ now: Deadline
    ) -> [Action] {
        for stored in records where stored.sequence > position {
            do throws(BlobError) {
                guard let next = try contents.next(stored) else { continue }
                let isStored = next.record.identity == append.next.record.identity
                return isStored ? appended(append, at: stored.sequence, now) : close(.fenced)
            } catch {
                return close(.fenced)
            }
        }
        if !isLast { return [askMain(.records(after: position))] }
        let append = Append(append.next, in: partition, expecting: position)
        phase = .appending(append)
        guard records.isEmpty else { return [askMain(append.question)] }
        // Whoever was asked is behind, or the append is refused for as long as another one is looked at.
        main.question = append.question
        later(&main, now)
        return []
    }

    // MARK: Opening

    private mutating func carry(_ step: LogReader.Step, _ now: Deadline) -> [Action] {
        switch step {
        case .ask(let question): return [askMain(question)]
        case .read: return claim()
        case .again(let question):
            phase = .reading
            main.question = question
            later(&main, now)
            return []
        case .failed(let error): return close(error)
        }
    }

    private mutating func claim() -> [Action] {
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
        guard (try? contents.add(record, record.bytes, at: sequence)) != nil else {
            return carry(reader.contradiction("a beginning was stored at the wrong place"), now)
        }
        return ready()
    }

    private mutating func ready() -> [Action] {
        phase = .ready
        reader.settle()
        main = Line()
        // What a newer version wrote may be there from before.
        return [.opened] + (isFinishing || contents.newestVersion > wire ? snapshotIfDue() : [])
    }

    // MARK: Appending

    private mutating func appendNext() -> [Action] {
        guard case .ready = phase, let next = pending.takeRecord(behind: state, for: wire) else { return [] }
        let append = Append(next, in: partition, expecting: position)
        phase = .appending(append)
        return [askMain(append.question)]
    }

    private mutating func appended(_ append: Append, at sequence: UInt64, _ now: Deadline) -> [Action] {
        guard (try? contents.add(append.next.record, append.next.bytes, at: sequence)) != nil else {
            return close(.damaged("a record was stored at the wrong place"))
        }
        phase = .ready
        main = Line()
        let committed: [Action] = append.next.commits.isEmpty ? [] : [.committed(append.next.commits)]
        return committed + appendNext() + snapshotIfDue()
    }

    // MARK: Snapshots

    /// `isFull`: the log takes nothing more. Then even the beginning of an epoch may wait for a snapshot, which says
    /// nothing but what is in the log whoever writes it.
    private mutating func snapshotIfDue(isFull: Bool = false) -> [Action] {
        var isClaiming = false
        if case .claiming = phase { isClaiming = true }
        guard snapshots.isIdle, isOpen || (isFull && isClaiming) else { return [] }
        let mustBe = isSnapshotDue || contents.newestVersion > wire
        if isFinishing {
            guard isIdle || (isFull && isSnapshotDue) else { return [] }
            guard mustBe || contents.recordsSinceSnapshot > 0 else { return [.finished] }
        } else {
            let isDue =
                mustBe || contents.recordsSinceSnapshot >= settings.snapshotRecords
                || contents.bytesSinceSnapshot >= settings.snapshotBytes
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
        contents.beginSnapshot(bytes)
        isSnapshotDue = false
        return [askSide(question)]
    }

    private mutating func sideAnswered(_ answer: LogAnswer, _ now: Deadline) -> [Action] {
        switch snapshots.answered(answer) {
        case .ask(let question): return [askSide(question)]
        case .kept(let question):
            contents.keptSnapshot()
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

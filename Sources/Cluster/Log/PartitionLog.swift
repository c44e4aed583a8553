import Core
import Delivery
import Push
import RouterConfiguration

/// The replicated log of one partition, used by the member that has its lease. A pure state machine: the caller sends
/// its requests to the storage and passes the responses back.
///
/// It reads the newest snapshot and the later records, and appends the start of its epoch on the condition that the log
/// is unchanged. This is the fence: from then on every append of a former owner fails. One append is in flight at a
/// time, because only its response contains the next condition; later transactions share the next record. An append
/// without a response is repeated with the same ID and condition. If the condition no longer holds, the next record
/// shows whether the append was stored.
struct PartitionLog: Sendable {
    struct Settings: Sendable {
        /// A snapshot is written after this number of records or bytes.
        var snapshotRecords = 512
        var snapshotBytes = 16 << 20
        var partSize = SnapshotHead.partSize
        var limits = PartitionState.Limits()
        /// The delay between retries; doubles from `first` to `longest`.
        var pause: (first: Duration, longest: Duration) = (.milliseconds(50), .milliseconds(250))
        /// The number of consecutive contradictions that is tolerated. A snapshot may be replaced while it is read.
        var maxContradictions = 5
    }

    enum Action: Equatable, Sendable {
        /// Send a request; pass the response to ``PartitionLog/answered(_:_:now:)`` with the same ticket.
        case ask(LogQuestion, ticket: Int)
        /// The epoch has started: transactions may be committed.
        case opened
        /// These transactions, and all before them, are stored.
        case committed([Commit])
        /// Everything is stored and in a snapshot.
        case finished
        /// The log is closed. Unacknowledged transactions may or may not be stored.
        case closed(PartitionLogError)
    }

    /// A stored transaction.
    struct Commit: Hashable, Sendable {
        /// The number that ``PartitionLog/commit(_:now:)`` returned.
        var number: UInt64
        /// The number of its first delivery.
        var firstDelivery: Int64
        var deliveries: [Delivery]
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
        /// A request finds out whether the append was stored.
        case checking(Append)
        case closed
    }

    /// A sequence of requests, one at a time: the one in flight, or waiting for its retry.
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
    /// The last start of an epoch that may have been appended.
    private var claimed: LogRecord.Identity?
    private var pending = PendingRecords()
    private var isSnapshotDue = false
    private var isFinishing = false

    /// `author` is the incarnation of `member`.
    init(partition: Int, member: MemberName, author: UInt64, settings: Settings = Settings()) {
        self.partition = partition
        self.member = member
        self.author = author
        self.settings = settings
        contents = LogContents(limits: settings.limits)
        reader = LogReader(maxContradictions: settings.maxContradictions)
    }

    // MARK: State

    /// The state after all records read so far.
    var state: PartitionState { contents.state }

    var isOpen: Bool {
        switch phase {
        case .ready, .appending, .checking: true
        default: false
        }
    }

    /// The number of the last transaction: once it is stored, all before it are too.
    var lastCommitted: UInt64 { pending.lastNumber }

    /// Whether all committed transactions are stored.
    var isIdle: Bool { if case .ready = phase { pending.isEmpty } else { false } }

    var nextDeadline: Deadline? { [main.retryAt, side.retryAt].compactMap(\.self).min() }

    // MARK: Requests of the owner

    mutating func open(now: Deadline) -> [Action] { [ask(reader.begin())] }

    /// Queues a transaction to be stored. Returns its number, which a later ``Action/committed(_:)`` contains.
    mutating func commit(
        _ transaction: LogTransaction,
        now: Deadline
    ) throws(PartitionLogError) -> (number: UInt64, actions: [Action]) {
        guard isOpen, !isFinishing else { throw .notOpen }
        return (try pending.add(transaction), appendNext())
    }

    /// Queues relays' read positions to be stored. No result is reported: after a loss, a relay is only read again.
    mutating func note(_ marks: [RelayMark], now: Deadline) -> [Action] {
        guard isOpen, !isFinishing else { return [] }
        for mark in marks where state.relays[mark.relay] != mark.moment { pending.note(mark) }
        return appendNext()
    }

    /// Accepts no more transactions. ``Action/finished`` follows when everything is stored and in a snapshot.
    mutating func finish(now: Deadline) -> [Action] {
        guard !isFinishing else { return [] }
        isFinishing = true
        return isOpen ? snapshotIfDue() : close(.released)
    }

    /// Closes the log immediately.
    mutating func close(_ error: PartitionLogError) -> [Action] {
        if case .closed = phase { return [] }
        phase = .closed
        snapshots = SnapshotWriter()
        (main, side) = (Line(), Line())
        pending.removeAll()
        return [.closed(error)]
    }

    mutating func tick(now: Deadline) -> [Action] {
        var actions: [Action] = []
        for line in [\PartitionLog.main, \.side] {
            guard let retryAt = self[keyPath: line].retryAt, now >= retryAt, let question = self[keyPath: line].question
            else { continue }
            actions.append(ask(question, on: line, isRepeated: true))
        }
        return actions
    }

    // MARK: Requests to the storage

    private mutating func ask(
        _ question: LogQuestion,
        on line: WritableKeyPath<PartitionLog, Line> = \.main,
        isRepeated: Bool = false
    ) -> Action {
        lastTicket += 1
        let pause = isRepeated ? self[keyPath: line].pause : nil
        self[keyPath: line] = Line(question: question, ticket: lastTicket, pause: pause)
        return .ask(question, ticket: lastTicket)
    }

    private func later(_ line: inout Line, _ now: Deadline) {
        let pause = line.pause.map { min($0 * 2, settings.pause.longest) } ?? settings.pause.first
        line.pause = pause
        line.retryAt = now + pause
    }

    mutating func answered(_ ticket: Int, _ answer: LogAnswer, now: Deadline) -> [Action] {
        if ticket == main.ticket, main.retryAt == nil {
            guard answer != .unavailable else {
                later(&main, now)
                return []
            }
            guard answer != .full else {
                later(&main, now)
                // A snapshot lets the log be truncated.
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
            return [ask(reader.continueReading(after: contents))]
        case (.appending(let append), .stored(let sequence)): return appended(append, at: sequence, now)
        case (.appending(let append), .conflict):
            phase = .checking(append)
            return [ask(.records(after: contents.position))]
        case (.checking(let append), .records(let records, let isLast)):
            return check(append, records, isLast: isLast, now)
        default: return carry(reader.contradiction("an answer that does not fit"), now)
        }
    }

    /// Decides from the record found instead of an append whether the append was stored.
    private mutating func check(
        _ append: Append,
        _ records: [LogAnswer.Record],
        isLast: Bool,
        _ now: Deadline
    ) -> [Action] {
        for stored in records where stored.sequence > contents.position {
            do throws(BlobError) {
                guard let next = try contents.next(stored) else { continue }
                let isStored = next.record.identity == append.next.record.identity
                return isStored ? appended(append, at: stored.sequence, now) : close(.fenced)
            } catch {
                return close(.fenced)
            }
        }
        if !isLast { return [ask(.records(after: contents.position))] }
        let append = Append(append.next, in: partition, expecting: contents.position)
        phase = .appending(append)
        guard records.isEmpty else { return [ask(append.question)] }
        // The queried server lags, or refuses the append while it processes another one.
        main.question = append.question
        later(&main, now)
        return []
    }

    // MARK: Opening

    private mutating func carry(_ step: LogReader.Step, _ now: Deadline) -> [Action] {
        switch step {
        case .ask(let question): return [ask(question)]
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
        // The start of the epoch may have been stored although its response was lost.
        if last == claimed { return ready() }
        let record = LogRecord(
            LogRecord.Identity(epoch: last.epoch + 1, author: author, index: 0),
            .beginning(LogRecord.Beginning(previousEpoch: last.epoch, previousIndex: last.index, member: member))
        )
        claimed = record.identity
        phase = .claiming(record)
        let messageID = record.identity.messageID(in: partition)
        return [ask(.append(record.bytes, messageID: messageID, expected: contents.position))]
    }

    private mutating func begin(_ record: LogRecord, at sequence: UInt64, _ now: Deadline) -> [Action] {
        guard (try? contents.add(record, record.bytes, at: sequence)) != nil else {
            return carry(reader.contradiction("a start record was stored at the wrong position"), now)
        }
        return ready()
    }

    private mutating func ready() -> [Action] {
        phase = .ready
        reader.settle()
        main = Line()
        return [.opened] + (isFinishing ? snapshotIfDue() : [])
    }

    // MARK: Appending

    private mutating func appendNext() -> [Action] {
        guard case .ready = phase, let next = pending.takeRecord(after: state) else { return [] }
        let append = Append(next, in: partition, expecting: contents.position)
        phase = .appending(append)
        return [ask(append.question)]
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

    /// `isFull`: the log accepts no more records. Then even the start of the epoch may wait for a snapshot, which is
    /// safe for any writer because it only repeats the log's contents.
    private mutating func snapshotIfDue(isFull: Bool = false) -> [Action] {
        var isClaiming = false
        if case .claiming = phase { isClaiming = true }
        guard snapshots.isIdle, isOpen || (isFull && isClaiming) else { return [] }
        if isFinishing {
            guard isIdle || (isFull && isSnapshotDue) else { return [] }
            guard isSnapshotDue || contents.recordsSinceSnapshot > 0 else { return [.finished] }
        } else {
            let isDue =
                isSnapshotDue || contents.recordsSinceSnapshot >= settings.snapshotRecords
                || contents.bytesSinceSnapshot >= settings.snapshotBytes
            guard isDue else { return [] }
        }
        // A former owner may be writing the same under its own name.
        let name = "\(state.identity.epoch)-\(String(author, radix: 16))-\(state.identity.index)"
        let bytes = state.snapshot()
        guard
            let question = snapshots.begin(
                bytes,
                named: name,
                at: contents.position,
                epoch: state.identity.epoch,
                partSize: settings.partSize
            )
        else { return [] }
        contents.beginSnapshot()
        isSnapshotDue = false
        return [ask(question, on: \.side)]
    }

    private mutating func sideAnswered(_ answer: LogAnswer, _ now: Deadline) -> [Action] {
        switch snapshots.answered(answer) {
        case .ask(let question), .kept(let question): return [ask(question, on: \.side)]
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

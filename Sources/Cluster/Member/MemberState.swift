import Core
import RouterConfiguration

/// The state of one cluster member: its leases, and the logs of its partitions. A pure state machine.
///
/// An acquired partition is opened. While it is open, transactions can be committed, and their deliveries may be sent
/// while ``maySend(for:at:)`` is true. A partition that moves is drained first.
struct MemberState: Sendable {
    enum Action: Sendable {
        case announce(MemberRecord)
        case writeLease(partition: Int, LeaseRecord, over: UInt64)
        case readLease(partition: Int)
        /// `opening` counts the openings of partitions: responses to an earlier one are ignored.
        case ask(partition: Int, LogQuestion, opening: Int, ticket: Int)
        /// Transactions may be committed. ``MemberState/state(of:)`` has the state.
        case opened(partition: Int)
        case committed(partition: Int, [PartitionLog.Commit])
        /// The partition moves: finish all work in progress, then call ``MemberState/drained(_:now:)``.
        case drain(partition: Int)
        /// The partition is no longer open here: send none of its pushes, and respond to no uncommitted batch.
        case closed(partition: Int, PartitionLogError)
        case left
    }

    private let me: MemberRecord
    private let settings: PartitionLog.Settings
    private(set) var leases: LeaseTable
    private var logs: [Int: (log: PartitionLog, opening: Int)] = [:]
    private var openings = 0
    private var draining: Set<Int> = []

    init(
        _ me: MemberRecord,
        partitions: Int,
        times: LeaseTable.Times = LeaseTable.Times(),
        settings: PartitionLog.Settings = PartitionLog.Settings()
    ) {
        self.me = me
        self.settings = settings
        leases = LeaseTable(me, partitions: partitions, times: times)
    }

    // MARK: State

    /// Whether this member may send pushes for a partition now. Call it immediately before each send.
    func maySend(for partition: Int, at now: Deadline) -> Bool {
        isOpen(partition) && leases.maySend(for: partition, at: now)
    }

    /// The time from which no partition may send without another renewal; `distantFuture`: this member holds none.
    var sendingEnds: Deadline { leases.lastValidity }

    func isOpen(_ partition: Int) -> Bool { logs[partition]?.log.isOpen ?? false }

    var openPartitions: [Int] { logs.filter { $0.value.log.isOpen }.map(\.key).sorted() }

    func state(of partition: Int) -> PartitionState? { logs[partition].map(\.log.state) }

    /// Whether one of the open partitions has accepted an event, among the events that are still remembered.
    func isKnown(_ cause: [UInt8]) -> Bool {
        logs.values.contains { $0.log.isOpen && $0.log.state.isKnown(cause) }
    }

    /// The number of the last transaction: once it is stored, all before it are too.
    func lastCommitted(in partition: Int) -> UInt64? { logs[partition]?.log.lastCommitted }

    // MARK: Requests of the owner

    /// Queues a transaction to be stored. Returns its number, which a later ``Action/committed(partition:_:)``
    /// contains.
    mutating func commit(
        _ transaction: LogTransaction,
        to partition: Int,
        now: Deadline
    ) throws(PartitionLogError) -> (number: UInt64, actions: [Action]) {
        // Removed for the change, so that the log is not copied.
        guard var entry = logs.removeValue(forKey: partition) else { throw .notOpen }
        defer { logs[partition] = entry }
        let (number, actions) = try entry.log.commit(transaction, now: now)
        return (number, actions.compactMap { Self.direct($0, partition, entry.opening) })
    }

    /// Queues relays' read positions to be stored. Does nothing if this member does not own the partition.
    mutating func note(_ marks: [RelayMark], in partition: Int, now: Deadline) -> [Action] {
        change(partition, now) { $0.note(marks, now: now) }
    }

    /// Reports that all work in progress at ``Action/drain(partition:)`` is finished.
    mutating func drained(_ partition: Int, now: Deadline) -> [Action] {
        guard draining.contains(partition) else { return [] }
        guard logs[partition] != nil else { return carry(leases.release(partition, now: now), now) }
        return change(partition, now) { $0.finish(now: now) }
    }

    /// Leaves the cluster: each partition is drained, and ``Action/left`` follows at the end.
    mutating func leave(now: Deadline) -> [Action] { carry(leases.leave(now: now), now) }

    /// Starts draining (hands all partitions over and takes none), or stops it.
    mutating func drain(_ isOn: Bool, now: Deadline) -> [Action] {
        carry(leases.drain(isOn, now: now), now)
    }

    mutating func tick(now: Deadline) -> [Action] {
        var actions = carry(leases.tick(now: now), now)
        for partition in logs.keys.sorted() {
            guard let due = logs[partition]?.log.nextDeadline, now >= due else { continue }
            actions += change(partition, now) { $0.tick(now: now) }
        }
        return actions
    }

    // MARK: Events

    mutating func observed(member: MemberName, _ record: MemberRecord?, revision: UInt64, now: Deadline) {
        leases.observed(member: member, record, revision: revision, now: now)
    }

    mutating func observed(move partition: Int, to member: MemberName?) {
        leases.observed(move: partition, to: member)
    }

    mutating func observed(
        partition: Int,
        _ record: LeaseRecord?,
        revision: UInt64,
        now: Deadline
    ) -> [Action] { carry(leases.observed(partition: partition, record, revision: revision, now: now), now) }

    mutating func leasesBecameCurrent(now: Deadline) { leases.becameCurrent(now: now) }

    mutating func wroteLease(
        partition: Int,
        _ record: LeaseRecord,
        _ result: LeaseTable.WriteResult,
        now: Deadline
    ) -> [Action] { carry(leases.wrote(partition: partition, record, result, now: now), now) }

    mutating func leaseReadFailed(partition: Int) { leases.readFailed(partition: partition) }

    mutating func answered(
        partition: Int,
        opening: Int,
        ticket: Int,
        _ answer: LogAnswer,
        now: Deadline
    ) -> [Action] {
        guard logs[partition]?.opening == opening else { return [] }
        return change(partition, now) { $0.answered(ticket, answer, now: now) }
    }

    // MARK: Performing actions

    private mutating func carry(_ actions: [LeaseTable.Action], _ now: Deadline) -> [Action] {
        actions.flatMap { carry($0, now) }
    }

    private mutating func carry(_ action: LeaseTable.Action, _ now: Deadline) -> [Action] {
        switch action {
        case .announce(let record): return [.announce(record)]
        case .write(let partition, let record, let over):
            return [.writeLease(partition: partition, record, over: over)]
        case .read(let partition): return [.readLease(partition: partition)]
        case .acquired(let partition):
            openings += 1
            let log = PartitionLog(
                partition: partition,
                member: me.name,
                author: me.incarnation,
                settings: settings
            )
            logs[partition] = (log, openings)
            return change(partition, now) { $0.open(now: now) }
        case .drain(let partition):
            draining.insert(partition)
            // A partition that is not open has no work in progress.
            guard isOpen(partition) else {
                let closed = change(partition, now) { $0.close(.released) }
                return closed + carry(leases.release(partition, now: now), now)
            }
            return [.drain(partition: partition)]
        case .lost(let partition):
            draining.remove(partition)
            defer { logs[partition] = nil }
            return change(partition, now) { $0.close(.released) }
        case .left: return [.left]
        }
    }

    private mutating func change(
        _ partition: Int,
        _ now: Deadline,
        _ body: (inout PartitionLog) -> [PartitionLog.Action]
    ) -> [Action] {
        guard var entry = logs.removeValue(forKey: partition) else { return [] }
        let actions = body(&entry.log)
        logs[partition] = entry
        return actions.flatMap { action -> [Action] in
            if case .opened = action { leases.accept(partition) }
            if let action = Self.direct(action, partition, entry.opening) { return [action] }
            switch action {
            case .finished:
                logs[partition] = nil
                return [.closed(partition: partition, .released)] + carry(leases.release(partition, now: now), now)
            case .closed(let error):
                logs[partition] = nil
                switch error {
                case .fenced:
                    draining.remove(partition)
                    return [.closed(partition: partition, error)] + carry(leases.abandon(partition), now)
                case .otherFormat:
                    draining.remove(partition)
                    return [.closed(partition: partition, error)] + carry(leases.decline(partition, now: now), now)
                // Keeps the lease of a damaged log, so that one member reports it instead of all in turn.
                default: break
                }
                return [.closed(partition: partition, error)]
            default: return []
            }
        }
    }

    /// Converts actions that need no change of state.
    private static func direct(_ action: PartitionLog.Action, _ partition: Int, _ opening: Int) -> Action? {
        switch action {
        case .ask(let question, let ticket):
            .ask(partition: partition, question, opening: opening, ticket: ticket)
        case .opened: .opened(partition: partition)
        case .committed(let commits): .committed(partition: partition, commits)
        case .finished, .closed: nil
        }
    }
}

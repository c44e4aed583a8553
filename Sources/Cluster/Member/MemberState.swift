import Units

/// One member of a cluster: its leases and the logs of its partitions. Pure: its owner carries the actions out.
///
/// A partition that this member acquires is opened; while it is open, transactions can be committed and what they lead
/// to may be sent, as long as ``maySend(for:at:)`` says so. A partition that moves is drained first.
package struct MemberState: Sendable {
    package enum Action: Sendable {
        case announce(MemberRecord)
        case writeLease(partition: Int, LeaseRecord, over: UInt64)
        case readLease(partition: Int)
        /// `opening` numbers the times that this member opened the partition: answers to earlier ones do not count.
        case ask(partition: Int, LogQuestion, opening: Int, ticket: Int)
        /// Transactions may be committed. The state is ``MemberState/state(of:)``.
        case opened(partition: Int)
        case committed(partition: Int, [PartitionLog.Commit])
        /// The partition moves: take in nothing more, finish what is under way, and call
        /// ``MemberState/drained(_:now:)``.
        case drain(partition: Int)
        /// The partition is no longer open here. Nothing is sent for it, nothing that was not committed is answered.
        case closed(partition: Int, PartitionLogError)
        case left
    }

    private let me: MemberRecord
    private let settings: PartitionLog.Settings
    private var leases: LeaseTable
    private var logs: [Int: (log: PartitionLog, opening: Int)] = [:]
    private var openings = 0
    /// Partitions whose log is damaged. Their leases are kept, so that one member says so instead of all in turn.
    package private(set) var damaged: [Int: PartitionLogError] = [:]
    private var draining: Set<Int> = []

    package init(
        _ me: MemberRecord,
        partitions: Int,
        times: LeaseTable.Times = LeaseTable.Times(),
        settings: PartitionLog.Settings = PartitionLog.Settings()
    ) {
        self.me = me
        self.settings = settings
        leases = LeaseTable(me, partitions: partitions, times: times)
    }

    // MARK: What is known

    /// Whether something may be sent for a partition now. To be asked immediately before each send.
    package func maySend(for partition: Int, at now: Deadline) -> Bool {
        isOpen(partition) && leases.maySend(for: partition, at: now)
    }

    /// When nothing may be sent for any partition any more unless a lease is renewed; `distantFuture`: it has none.
    package var sendingEnds: Deadline { leases.lastValidity }

    package func isOpen(_ partition: Int) -> Bool { logs[partition]?.log.isOpen ?? false }

    package var openPartitions: [Int] { logs.filter { $0.value.log.isOpen }.map(\.key).sorted() }

    package func state(of partition: Int) -> PartitionState? { logs[partition].map(\.log.state) }

    /// Whether one of the open partitions has accepted an event.
    package func isKnown(_ cause: [UInt8]) -> Bool {
        logs.values.contains { $0.log.isOpen && $0.log.state.isKnown(cause) }
    }

    /// Everything up to this transaction is kept once this one is.
    package func lastCommitted(in partition: Int) -> UInt64? { logs[partition]?.log.lastCommitted }

    /// Whether whoever had the partition before finished what was under way.
    package func wasHandedOver(_ partition: Int) -> Bool { leases.wasHandedOver(partition) }

    package var holders: [MemberName?] { leases.holders }
    package func livingMembers(at now: Deadline) -> [MemberRecord] { leases.livingMembers(at: now) }
    package func missingMembers(at now: Deadline) -> [MemberRecord] { leases.missingMembers(at: now) }
    package func move(of partition: Int) -> MemberName? { leases.move(of: partition) }
    /// The newest version that all living members read.
    package func wire(at now: Deadline) -> Int { leases.wire(at: now) }
    package var hasDouble: Bool { leases.hasDouble }

    // MARK: What its owner wants

    /// Keeps a transaction. Returns its number, which ``Action/committed(partition:_:)`` names.
    package mutating func commit(
        _ transaction: LogTransaction,
        to partition: Int,
        now: Deadline
    ) throws(PartitionLogError) -> (number: UInt64, actions: [Action]) {
        guard transaction.letters.isEmpty || leases.wire(at: now) >= LogRecord.versionOfLetters else {
            throw .olderMembers
        }
        // Taken out, so that the log is not copied.
        guard var entry = logs.removeValue(forKey: partition) else { throw .notOpen }
        defer { logs[partition] = entry }
        let (number, actions) = try entry.log.commit(transaction, now: now)
        return (number, actions.compactMap { Self.direct($0, partition, entry.opening) })
    }

    /// Keeps how far relays were read whose reader a partition's owner is; nothing where this member is not it.
    package mutating func note(_ marks: [RelayMark], in partition: Int, now: Deadline) -> [Action] {
        change(partition, now) { $0.note(marks, now: now) }
    }

    /// What was under way when ``Action/drain(partition:)`` came is finished.
    package mutating func drained(_ partition: Int, now: Deadline) -> [Action] {
        guard draining.contains(partition) else { return [] }
        guard logs[partition] != nil else { return carry(leases.release(partition, now: now), now) }
        return change(partition, now) { $0.finish(now: now) }
    }

    /// Hands everything over: each partition is drained, and ``Action/left`` comes at the end.
    package mutating func leave(now: Deadline) -> [Action] { carry(leases.leave(now: now), now) }

    /// Hands everything over and takes nothing, without leaving; or takes its share again.
    package mutating func drain(_ isOn: Bool, now: Deadline) -> [Action] {
        carry(leases.drain(isOn, now: now), now)
    }

    package mutating func tick(now: Deadline) -> [Action] {
        var actions = carry(leases.tick(now: now), now)
        let wire = leases.wire(at: now)
        for partition in logs.keys.sorted() {
            actions += change(partition, now) { $0.speak(wire, now: now) }
            guard let due = logs[partition]?.log.nextDeadline, now >= due else { continue }
            actions += change(partition, now) { $0.tick(now: now) }
        }
        return actions
    }

    // MARK: What happens

    package mutating func observed(member: MemberName, _ record: MemberRecord?, revision: UInt64, now: Deadline) {
        leases.observed(member: member, record, revision: revision, now: now)
    }

    package mutating func observed(move partition: Int, to member: MemberName?) {
        leases.observed(move: partition, to: member)
    }

    package mutating func observed(
        partition: Int,
        _ record: LeaseRecord?,
        revision: UInt64,
        now: Deadline
    ) -> [Action] { carry(leases.observed(partition: partition, record, revision: revision, now: now), now) }

    package mutating func leasesBecameCurrent(now: Deadline) { leases.becameCurrent(now: now) }

    package mutating func wroteLease(
        partition: Int,
        _ record: LeaseRecord,
        _ result: LeaseTable.WriteResult,
        now: Deadline
    ) -> [Action] { carry(leases.wrote(partition: partition, record, result, now: now), now) }

    package mutating func leaseReadFailed(partition: Int) { leases.readFailed(partition: partition) }

    package mutating func answered(
        partition: Int,
        opening: Int,
        ticket: Int,
        _ answer: LogAnswer,
        now: Deadline
    ) -> [Action] {
        guard logs[partition]?.opening == opening else { return [] }
        return change(partition, now) { $0.answered(ticket, answer, now: now) }
    }

    // MARK: Carrying

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
            let wire = leases.wire(at: now)
            return change(partition, now) { $0.speak(wire, now: now) + $0.open(now: now) }
        case .drain(let partition):
            draining.insert(partition)
            // What is not open has nothing under way.
            guard isOpen(partition) else {
                let closed = change(partition, now) { $0.close(.released) }
                return closed + carry(leases.release(partition, now: now), now)
            }
            return [.drain(partition: partition)]
        case .lost(let partition):
            draining.remove(partition)
            damaged[partition] = nil
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
                case .newerFormat:
                    draining.remove(partition)
                    return [.closed(partition: partition, error)] + carry(leases.decline(partition, now: now), now)
                case .damaged: damaged[partition] = error
                default: break
                }
                return [.closed(partition: partition, error)]
            default: return []
            }
        }
    }

    /// The actions that only need to know their partition.
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

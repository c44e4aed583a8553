import Units

/// Which members of a cluster live, as one of them sees it, and at which of them a partition may be. Pure: time comes
/// in.
///
/// Another member counts as living while its record changes, by this member's own monotonic clock; wall clocks play no
/// part. While the bucket is silent, because the servers elect a leader or this member has lost them, that says
/// nothing: members that lived before count as living until they have had the time to write again.
struct Membership: Sendable {
    private struct Member {
        var record: MemberRecord
        var sighting: Sighting
        /// Whether it wrote its record while this member looked: else it may be long gone.
        var hasMoved = false
    }

    private let times: LeaseTable.Times
    /// This member's own record.
    private(set) var me: MemberRecord
    private var others: [MemberName: Member] = [:]
    /// Where operators want partitions.
    private var moves: [Int: MemberName] = [:]
    /// When something was last read or written in the bucket; nil: never.
    private var heardAt: Deadline?
    /// The candidates at the last look, and since when they are the same.
    private var candidates: Set<MemberName> = []
    private var candidatesSince = Deadline.distantPast
    /// Another process runs under this member's name.
    private(set) var hasDouble = false

    init(_ me: MemberRecord, times: LeaseTable.Times) {
        self.me = me
        self.times = times
    }

    // MARK: What is known

    /// The members that live, this one included, by name.
    func living(at now: Deadline) -> [MemberRecord] {
        ([me] + others.values.filter { isAlive($0, now) }.map(\.record)).sorted { $0.name < $1.name }
    }

    /// Members that lived of late and went away without a word, by name.
    func missing(at now: Deadline) -> [MemberRecord] {
        others.values.filter { member in
            !isAlive(member, now) && member.hasMoved && !member.record.isLeaving
                && now - member.sighting.since < times.memory
        }
        .map(\.record).sorted { $0.name < $1.name }
    }

    /// Where an operator wants a partition; nil: nobody said.
    func move(of partition: Int) -> MemberName? { moves[partition] }

    /// Whether this member takes no partitions as long as others can.
    var isDrained: Bool { me.isDrained ?? false }

    private func isAlive(_ member: Member, _ now: Deadline) -> Bool {
        guard let heardAt, now - heardAt > times.blindness else { return isFresh(member.sighting, now) }
        return isFresh(member.sighting, heardAt)
    }

    private func isFresh(_ sighting: Sighting, _ now: Deadline) -> Bool {
        sighting.isFresh(at: now, within: times.stillness)
    }

    // MARK: Whom partitions may be at

    /// The members that partitions may be at. Where all are drained, all are: somebody has to do it.
    func candidates(at now: Deadline) -> Set<MemberName> {
        let staying = living(at: now).filter { !$0.isLeaving }
        let willing = staying.filter { !($0.isDrained ?? false) }
        return Set((willing.isEmpty ? staying : willing).map(\.name))
    }

    /// The same, and whether they have been the same for long enough to move partitions. To be asked a few times a
    /// second.
    mutating func look(at now: Deadline) -> (candidates: Set<MemberName>, hasSettled: Bool) {
        let current = candidates(at: now)
        if current != candidates { (candidates, candidatesSince) = (current, now) }
        return (current, now - candidatesSince >= times.settling)
    }

    /// The member that a partition belongs to; nil: none of `candidates` wants it.
    func owner(of partition: Int, among candidates: Set<MemberName>) -> MemberName? {
        let candidates = candidates.filter { name in
            let declined = name == me.name ? me.declined : others[name]?.record.declined
            return !(declined?.contains(partition) ?? false)
        }
        if let wanted = moves[partition], candidates.contains(wanted) { return wanted }
        return Placement.owner(of: partition, among: candidates)
    }

    // MARK: What happens in the bucket

    /// The bucket works. Returns whether it was silent for so long before that this member should show itself.
    mutating func heard(_ now: Deadline) -> Bool {
        let last = heardAt
        heardAt = now
        guard let last, now - last > times.blindness else { return false }
        for (name, member) in others where isFresh(member.sighting, last) {
            let since = now - (times.stillness - times.grace)
            others[name]?.sighting.since = max(member.sighting.since, since)
        }
        return true
    }

    /// A member's record was written; nil: deleted. `isCurrent`: all entries that the bucket had were observed before.
    mutating func observed(
        _ name: MemberName,
        _ record: MemberRecord?,
        revision: UInt64,
        isCurrent: Bool,
        now: Deadline
    ) {
        guard name != me.name else {
            if let record, isCurrent, record.incarnation != me.incarnation { hasDouble = true }
            return
        }
        guard let record else {
            others[name] = nil
            return
        }
        let known = others[name]
        guard revision > known?.sighting.revision ?? 0 else { return }
        others[name] = Member(
            record: record,
            sighting: Sighting(revision: revision, since: now),
            hasMoved: known != nil || isCurrent
        )
    }

    /// An operator wants a partition at a member; nil: wherever it belongs.
    mutating func observed(move partition: Int, to member: MemberName?) { moves[partition] = member }

    /// Changes this member's own record, which is then to be written.
    mutating func changeMe(_ change: (inout MemberRecord) -> Void) { change(&me) }
}

/// The last change of an entry in the bucket, and since when this member knows of it.
struct Sighting: Sendable {
    var revision: UInt64
    var since: Deadline

    func isFresh(at now: Deadline, within stillness: Duration) -> Bool { now - since < stillness }
}

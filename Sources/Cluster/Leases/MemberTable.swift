import Core
import RouterConfiguration

/// The members of a cluster as one of them sees them: which are alive, and which may own a partition. The caller
/// supplies the time.
///
/// Another member counts as alive while its record changes, by this member's own monotonic clock; wall clocks do not
/// matter. If the bucket is silent, because the servers elect a leader or the connection is lost, members that were
/// alive before count as alive until they have had time to write again.
struct MemberTable: Sendable {
    private struct Member {
        var record: MemberRecord
        var lastSeen: LastSeen
        /// Whether it wrote its record while this member watched. If not, it may be long gone.
        var hasMoved = false
    }

    private let times: LeaseTable.Times
    /// This member's own record.
    private(set) var me: MemberRecord
    private var others: [MemberName: Member] = [:]
    /// The owners that operators chose, by partition.
    var moves: [Int: MemberName] = [:]
    /// When the bucket last responded; nil: never.
    private var heardAt: Deadline?
    /// The candidates at the last check, and since when they are unchanged.
    private var candidates: Set<MemberName> = []
    private var candidatesSince = Deadline.distantPast

    init(_ me: MemberRecord, times: LeaseTable.Times) {
        self.me = me
        self.times = times
    }

    // MARK: State

    /// The members that are alive, including this one, sorted by name.
    func living(at now: Deadline) -> [MemberRecord] {
        ([me] + others.values.filter { isAlive($0, now) }.map(\.record)).sorted { $0.name < $1.name }
    }

    /// Members that were recently alive and disappeared without leaving, sorted by name.
    func missing(at now: Deadline) -> [MemberRecord] {
        others.values.filter { member in
            !isAlive(member, now) && member.hasMoved && !member.record.isLeaving
                && now - member.lastSeen.since < times.memory
        }
        .map(\.record).sorted { $0.name < $1.name }
    }

    private func isAlive(_ member: Member, _ now: Deadline) -> Bool {
        guard let heardAt, now - heardAt > times.watchTimeout else { return isFresh(member.lastSeen, now) }
        return isFresh(member.lastSeen, heardAt)
    }

    private func isFresh(_ lastSeen: LastSeen, _ now: Deadline) -> Bool {
        lastSeen.isFresh(at: now, within: times.timeout)
    }

    // MARK: Candidates

    /// The members that may own partitions. If all are drained, all are candidates.
    func candidates(at now: Deadline) -> Set<MemberName> {
        let staying = living(at: now).filter { !$0.isLeaving }
        let willing = staying.filter { !$0.isDrained }
        return Set((willing.isEmpty ? staying : willing).map(\.name))
    }

    /// Returns ``candidates(at:)``, and whether they have been unchanged for long enough to move partitions. Call it
    /// several times per second.
    mutating func look(at now: Deadline) -> (candidates: Set<MemberName>, hasSettled: Bool) {
        let current = candidates(at: now)
        if current != candidates { (candidates, candidatesSince) = (current, now) }
        return (current, now - candidatesSince >= times.settling)
    }

    /// The member that should own a partition; nil: all of `candidates` decline it.
    func owner(of partition: Int, among candidates: Set<MemberName>) -> MemberName? {
        let candidates = candidates.filter { name in
            let declined = name == me.name ? me.declined : others[name]?.record.declined ?? []
            return !declined.contains(partition)
        }
        if let wanted = moves[partition], candidates.contains(wanted) { return wanted }
        return Placement.owner(of: partition, among: candidates)
    }

    // MARK: Changes in the bucket

    /// Notes that the bucket responds. Returns whether this member should announce itself after a long silence.
    mutating func heard(_ now: Deadline) -> Bool {
        let last = heardAt
        heardAt = now
        guard let last, now - last > times.watchTimeout else { return false }
        for (name, member) in others where isFresh(member.lastSeen, last) {
            let since = now - (times.timeout - times.grace)
            others[name]?.lastSeen.since = max(member.lastSeen.since, since)
        }
        return true
    }

    /// Takes a member's record; nil: deleted. `isCurrent`: all initial entries of the bucket were observed before.
    mutating func observed(
        _ name: MemberName,
        _ record: MemberRecord?,
        revision: UInt64,
        isCurrent: Bool,
        now: Deadline
    ) {
        guard name != me.name else { return }
        guard let record else {
            others[name] = nil
            return
        }
        let known = others[name]
        guard revision > known?.lastSeen.revision ?? 0 else { return }
        others[name] = Member(
            record: record,
            lastSeen: LastSeen(revision: revision, since: now),
            hasMoved: known != nil || isCurrent
        )
    }

    /// Changes this member's own record. The caller must write it.
    mutating func changeMe(_ change: (inout MemberRecord) -> Void) { change(&me) }
}

/// The last revision of an entry in the bucket, and when this member saw it first.
struct LastSeen: Sendable {
    var revision: UInt64
    var since: Deadline

    func isFresh(at now: Deadline, within timeout: Duration) -> Bool { now - since < timeout }
}

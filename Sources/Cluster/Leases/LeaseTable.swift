import Core
import RouterConfiguration

/// The leases of a cluster's partitions, as one member sees them. A pure state machine: the caller passes the time and
/// performs the actions. ``MemberTable`` knows the live members and the preferred owners.
///
/// A lease is renewed by a conditional write each second. A member that finds one unchanged for ``Times/timeout`` may
/// take it, on the condition that it is still unchanged. A holder trusts its lease only for ``Times/validity`` from the
/// moment at which it *sent* a renewal that succeeded. That is shorter, so that it stops before another can start.
/// Leases prevent duplicate pushes; the log has its own fence against lost or doubled state.
struct LeaseTable: Sendable {
    struct Times: Sendable {
        /// The interval at which a member writes its record and its leases.
        var renewal: Duration = .seconds(1)
        /// The delay before an unanswered write is retried: a lost connection must not cost the lease.
        var retry: Duration = .milliseconds(250)
        /// How long a holder trusts a lease, counted from the time it sent the last successful renewal.
        var validity: Duration = .seconds(2)
        /// After this time without a change a member counts as dead, and another one may take the lease.
        var timeout: Duration = .seconds(3)
        /// After this time without any message from the bucket, this member cannot know which members are alive.
        var watchTimeout: Duration = .seconds(2)
        /// After such a silence, members that were alive before it have this long to write again.
        var grace: Duration = .milliseconds(1_500)
        /// How long the set of members must be unchanged before a partition moves, and how long a new member waits
        /// before it takes any.
        var settling: Duration = .seconds(2)
        /// How long a member that disappeared without leaving is listed as missing.
        var memory: Duration = .minutes(60)
        /// How long a member declines a partition whose log it cannot read; doubles from `first` to `longest`.
        var declining: (first: Duration, longest: Duration) = (.seconds(30), .minutes(10))
    }

    enum Action: Hashable, Sendable {
        /// Write this member's record unconditionally.
        case announce(MemberRecord)
        /// Write the lease of a partition if its revision is still `over`; 0: if it does not exist.
        case write(partition: Int, LeaseRecord, over: UInt64)
        /// Read the lease of a partition from the stream's leader.
        case read(partition: Int)
        /// This member owns the partition: it may open the log.
        case acquired(partition: Int)
        /// Finish all work in progress, and then call ``LeaseTable/release(_:now:)``.
        case drain(partition: Int)
        /// This member no longer owns the partition. Send no more pushes for it.
        case lost(partition: Int)
        /// All partitions of the member have moved.
        case left
    }

    /// The result of a conditional write.
    enum WriteResult: Hashable, Sendable {
        case stored(revision: UInt64)
        /// The entry has changed.
        case conflict
        /// The write may or may not have happened.
        case unknown
    }

    private struct Lease {
        enum Phase {
            case none
            /// A write to take the lease is in flight.
            case taking
            case held
            /// Held; its work in progress is being finished.
            case draining
            /// A write to release the lease is in flight.
            case freeing
        }

        var phase = Phase.none
        var record: LeaseRecord?
        var lastSeen: LastSeen?
        /// When each write that may still succeed was sent, by its `beat`.
        var sent: [UInt64: Deadline] = [:]
        /// The `beat` of the write in flight.
        var underWay: UInt64?
        var isReading = false
        /// Whether the previous holder released the partition, or there was none.
        var wasFree = true
        var validUntil = Deadline.distantPast
        var writeAt = Deadline.distantPast

        var isOurs: Bool { phase == .held || phase == .draining || phase == .freeing }
    }

    /// A partition that this member declined.
    private struct Declined {
        var until: Deadline
        var pause: Duration
    }

    private let times: Times
    private let partitions: Int
    private(set) var members: MemberTable
    /// Partitions whose logs this member could not read; a partition is removed once it could.
    private var declined: [Int: Declined] = [:]
    private var beat: UInt64 = 0
    private var leases: [Lease]
    /// Since when all entries of the bucket have been known; nil: not yet.
    private var currentSince: Deadline?
    private var announceAt = Deadline.distantPast
    private var hasLeft = false

    init(_ me: MemberRecord, partitions: Int, times: Times = Times()) {
        members = MemberTable(me, times: times)
        self.partitions = partitions
        self.times = times
        leases = Array(repeating: Lease(), count: partitions)
    }

    // MARK: State

    /// Whether this member may send pushes for a partition now. Call it immediately before each send.
    func maySend(for partition: Int, at now: Deadline) -> Bool {
        let lease = leases[partition]
        return (lease.phase == .held || lease.phase == .draining) && now < lease.validUntil
    }

    /// Whether the previous holder finished its work in progress. If not, queued deliveries may already have been sent.
    func wasHandedOver(_ partition: Int) -> Bool { leases[partition].wasFree }

    /// The latest time until which any partition may send without another renewal; `distantFuture`: this member holds
    /// none.
    var lastValidity: Deadline {
        leases.lazy.filter { $0.phase == .held || $0.phase == .draining }.map(\.validUntil).max() ?? .distantFuture
    }

    var heldPartitions: [Int] { leases.indices.filter { leases[$0].isOurs } }

    /// The known holder of each partition; nil: none.
    var holders: [MemberName?] {
        leases.map { lease in lease.record.flatMap { $0.isFree ? nil : $0.holder } }
    }

    private var me: MemberRecord { members.me }

    /// Notes that the bucket responds.
    private mutating func heard(_ now: Deadline) {
        if members.heard(now) { announceAt = min(announceAt, now) }
    }

    // MARK: Changes in the bucket

    /// Takes a member's record; nil: it was deleted.
    mutating func observed(member name: MemberName, _ record: MemberRecord?, revision: UInt64, now: Deadline) {
        heard(now)
        members.observed(name, record, revision: revision, isCurrent: currentSince != nil, now: now)
    }

    /// Takes an operator's choice of a partition's owner; nil: the default owner.
    mutating func observed(move partition: Int, to member: MemberName?) { members.moves[partition] = member }

    /// Takes a lease that was written, or read from the leader. Nil: it was deleted or never existed.
    mutating func observed(
        partition: Int,
        _ record: LeaseRecord?,
        revision: UInt64,
        now: Deadline
    ) -> [Action] {
        guard leases.indices.contains(partition) else { return [] }
        heard(now)
        leases[partition].isReading = false
        guard revision > leases[partition].lastSeen?.revision ?? 0 else { return [] }
        leases[partition].lastSeen = LastSeen(revision: revision, since: now)
        leases[partition].record = record
        if let record, record.holder == me.name, record.incarnation == me.incarnation {
            return succeeded(partition, record, now)
        }
        return lose(partition)
    }

    /// Notes that all initial entries of the bucket were observed.
    mutating func becameCurrent(now: Deadline) {
        if currentSince == nil { currentSince = now }
    }

    /// Takes the result of a write of a lease.
    mutating func wrote(
        partition: Int,
        _ record: LeaseRecord,
        _ result: WriteResult,
        now: Deadline
    ) -> [Action] {
        if leases[partition].underWay == record.beat { leases[partition].underWay = nil }
        switch result {
        case .stored(let revision):
            heard(now)
            guard revision > leases[partition].lastSeen?.revision ?? 0 else { return [] }
            leases[partition].lastSeen = LastSeen(revision: revision, since: now)
            leases[partition].record = record
            return succeeded(partition, record, now)
        case .conflict:
            // This member's own earlier write may have changed it.
            leases[partition].sent[record.beat] = nil
            fallthrough
        case .unknown:
            if leases[partition].phase == .taking { leases[partition].phase = .none }
            leases[partition].isReading = true
            leases[partition].writeAt = min(leases[partition].writeAt, now + times.retry)
            return [.read(partition: partition)]
        }
    }

    /// Notes that a lease could not be read. The next tick retries.
    mutating func readFailed(partition: Int) { leases[partition].isReading = false }

    /// Notes that the bucket has a write of this incarnation.
    private mutating func succeeded(_ partition: Int, _ record: LeaseRecord, _ now: Deadline) -> [Action] {
        let sentAt = leases[partition].sent[record.beat]
        leases[partition].sent = leases[partition].sent.filter { $0.key > record.beat }
        if record.isFree {
            let wasOurs = leases[partition].isOurs
            leases[partition].phase = .none
            leases[partition].validUntil = .distantPast
            return (wasOurs ? [.lost(partition: partition)] : []) + leftIfDone()
        }
        guard let sentAt else { return [] }
        leases[partition].validUntil = max(leases[partition].validUntil, sentAt + times.validity)
        guard !leases[partition].isOurs else { return [] }
        guard now < leases[partition].validUntil, !me.isLeaving,
            !me.isDrained || members.candidates(at: now).contains(me.name)
        else {
            leases[partition].phase = .none
            return []
        }
        leases[partition].phase = .held
        return [.acquired(partition: partition)]
    }

    private mutating func lose(_ partition: Int) -> [Action] {
        let wasOurs = leases[partition].isOurs
        leases[partition].phase = .none
        leases[partition].validUntil = .distantPast
        leases[partition].sent = [:]
        return (wasOurs ? [.lost(partition: partition)] : []) + leftIfDone()
    }

    // MARK: Requests of this member

    /// Releases a partition whose work is finished. From now on this member sends no pushes for it.
    mutating func release(_ partition: Int, now: Deadline) -> [Action] {
        guard leases[partition].isOurs else { return [] }
        leases[partition].phase = .freeing
        leases[partition].validUntil = .distantPast
        leases[partition].writeAt = now
        return tick(partition, now)
    }

    /// Gives up a partition immediately, because another member owns its log.
    mutating func abandon(_ partition: Int) -> [Action] { lose(partition) }

    /// Releases a partition whose log this member cannot read, and declines it for a while. The member that takes it
    /// rewrites the log in the oldest member's format, so that this one can take it again.
    mutating func decline(_ partition: Int, now: Deadline) -> [Action] {
        let pause = declined[partition].map { min($0.pause * 2, times.declining.longest) } ?? times.declining.first
        declined[partition] = Declined(until: now + pause, pause: pause)
        // The other members must learn of it before the lease is free.
        return announceDeclined(now) + release(partition, now: now)
    }

    /// Notes that the partition could be read, so it is no longer declined.
    mutating func accept(_ partition: Int) { declined[partition] = nil }

    private mutating func announceDeclined(_ now: Deadline) -> [Action] {
        let active = declined.filter { now < $0.value.until }.keys.sorted()
        guard active != me.declined else { return [] }
        members.changeMe { $0.declined = active }
        return announce(now)
    }

    private mutating func announce(_ now: Deadline) -> [Action] {
        announceAt = now + times.renewal
        members.changeMe { $0.beat += 1 }
        return [.announce(me)]
    }

    /// Starts or stops draining: hands all partitions over and takes none while other members can take them.
    mutating func drain(_ isOn: Bool, now: Deadline) -> [Action] {
        guard !me.isLeaving, me.isDrained != isOn else { return [] }
        members.changeMe { $0.isDrained = isOn }
        announceAt = now
        var actions = tick(now: now)
        guard isOn, !members.candidates(at: now).contains(me.name) else { return actions }
        for partition in leases.indices where leases[partition].phase == .held {
            leases[partition].phase = .draining
            actions.append(.drain(partition: partition))
        }
        return actions
    }

    /// Leaves the cluster: hands all partitions over.
    mutating func leave(now: Deadline) -> [Action] {
        guard !me.isLeaving else { return [] }
        members.changeMe { $0.isLeaving = true }
        announceAt = now
        var actions = tick(now: now)
        for partition in leases.indices where leases[partition].phase == .held {
            leases[partition].phase = .draining
            actions.append(.drain(partition: partition))
        }
        return actions + leftIfDone()
    }

    private mutating func leftIfDone() -> [Action] {
        guard me.isLeaving, !hasLeft, !leases.contains(where: \.isOurs) else { return [] }
        hasLeft = true
        return [.left]
    }

    /// Returns the actions that are due. Call it several times per second.
    mutating func tick(now: Deadline) -> [Action] {
        var actions = announceDeclined(now)
        if now >= announceAt { actions += announce(now) }
        for partition in leases.indices { actions += tick(partition, now) }
        guard let currentSince, !me.isLeaving else { return actions }
        let (candidates, hasSettled) = members.look(at: now)
        var isMoving = leases.contains { $0.phase == .draining || $0.phase == .freeing }
        for partition in leases.indices {
            let isMine = members.owner(of: partition, among: candidates) == me.name
            if isMine, leases[partition].phase == .none {
                // A new member waits first, so that it knows the others.
                if now - currentSince >= times.settling { actions += take(partition, now) }
            } else if !isMine, hasSettled, !isMoving, leases[partition].phase == .held {
                isMoving = true
                leases[partition].phase = .draining
                actions.append(.drain(partition: partition))
            }
        }
        return actions
    }

    private mutating func take(_ partition: Int, _ now: Deadline) -> [Action] {
        let lease = leases[partition]
        guard lease.underWay == nil, !lease.isReading, now >= lease.writeAt else { return [] }
        if let record = lease.record, !record.isFree, let lastSeen = lease.lastSeen {
            // This incarnation may immediately take back a lease that it lost: no other member has it.
            let isOwn = record.holder == me.name && record.incarnation == me.incarnation
            guard isOwn || !lastSeen.isFresh(at: now, within: times.timeout) else { return [] }
        }
        leases[partition].wasFree = lease.record?.isFree ?? true
        leases[partition].phase = .taking
        return [write(partition, isFree: false, now)]
    }

    private mutating func tick(_ partition: Int, _ now: Deadline) -> [Action] {
        let lease = leases[partition]
        switch lease.phase {
        case .none, .taking: return []
        case .held, .draining:
            guard now < lease.validUntil else { return lose(partition) }
            guard now >= lease.writeAt, lease.underWay == nil, !lease.isReading else { return [] }
            return [write(partition, isFree: false, now)]
        case .freeing:
            guard now >= lease.writeAt, lease.underWay == nil, !lease.isReading else { return [] }
            return [write(partition, isFree: true, now)]
        }
    }

    private mutating func write(_ partition: Int, isFree: Bool, _ now: Deadline) -> Action {
        beat += 1
        leases[partition].underWay = beat
        leases[partition].sent[beat] = now
        leases[partition].writeAt = now + times.renewal
        let record = LeaseRecord(holder: me.name, incarnation: me.incarnation, isFree: isFree, beat: beat)
        return .write(partition: partition, record, over: leases[partition].lastSeen?.revision ?? 0)
    }
}

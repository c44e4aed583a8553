import Core
import RouterConfiguration
import Testing
import TimeTestSupport

@testable import Cluster

/// Leases, with time as numbers: each member renews each second, trusts its lease for two, and waits for three.
struct LeaseTableTests {
    private let a = MemberRecord(name: .known("a"), incarnation: 1)
    private let b = MemberRecord(name: .known("b"), incarnation: 2)
    private var table: LeaseTable
    private var revision: UInt64 = 100

    init() {
        table = LeaseTable(a, partitions: 1)
        table.becameCurrent(now: 0)
    }

    private static func writes(_ actions: [LeaseTable.Action]) -> [(record: LeaseRecord, over: UInt64)] {
        actions.compactMap { if case .write(_, let record, let over) = $0 { (record, over) } else { nil } }
    }

    /// Returns the table's actions if each write succeeds immediately.
    private mutating func tick(_ now: Deadline) -> [LeaseTable.Action] {
        var actions = table.tick(now: now)
        for (record, _) in Self.writes(actions) {
            revision += 1
            actions += table.wrote(partition: 0, record, .stored(revision: revision), now: now)
        }
        return actions
    }

    private mutating func take() {
        _ = tick(0)
        #expect(tick(2_000).contains(.acquired(partition: 0)))
    }

    @Test mutating func freePartitionIsAcquiredAfterADelay() {
        #expect(Self.writes(tick(0)).isEmpty)
        #expect(Self.writes(tick(1_900)).isEmpty)
        let actions = tick(2_000)
        #expect(Self.writes(actions).map(\.over) == [0])
        #expect(actions.contains(.acquired(partition: 0)))
        #expect(table.maySend(for: 0, at: 3_999) && !table.maySend(for: 0, at: 4_000))
    }

    @Test mutating func aRenewalCountsFromWhenItWasSent() {
        take()
        let renewal = Self.writes(table.tick(now: 3_000))[0]
        #expect(renewal.over == revision)
        _ = table.wrote(partition: 0, renewal.record, .stored(revision: revision + 1), now: 3_900)
        #expect(table.maySend(for: 0, at: 4_999) && !table.maySend(for: 0, at: 5_000))
    }

    @Test mutating func sendingEndsWithTheLastLease() {
        #expect(table.lastValidity == .distantFuture)
        take()
        #expect(table.lastValidity == 4_000)
        _ = tick(3_000)
        #expect(table.lastValidity == 5_000)
        // The lease stays until another member notices, even after a standstill.
        for (record, _) in Self.writes(table.tick(now: 4_000)) {
            _ = table.wrote(partition: 0, record, .unknown, now: 4_100)
        }
        #expect(table.lastValidity == 5_000)
        #expect(table.tick(now: 15_000).contains(.lost(partition: 0)))
        #expect(table.lastValidity == .distantFuture)
    }

    @Test mutating func unrenewedLeaseReleasesThePartition() {
        take()
        let renewal = Self.writes(table.tick(now: 3_000))[0]
        #expect(table.wrote(partition: 0, renewal.record, .unknown, now: 3_900) == [.read(partition: 0)])
        #expect(!table.tick(now: 3_999).contains(.lost(partition: 0)))
        #expect(table.tick(now: 4_000).contains(.lost(partition: 0)))
        #expect(!table.heldPartitions.contains(0))
    }

    /// The connection returns after a loss: the lease is renewed before it ends.
    @Test mutating func aLostConnectionDoesNotCostTheLease() {
        take()
        let renewal = Self.writes(table.tick(now: 3_000))[0]
        #expect(table.wrote(partition: 0, renewal.record, .unknown, now: 3_050) == [.read(partition: 0)])
        table.readFailed(partition: 0)
        #expect(Self.writes(table.tick(now: 3_299)).isEmpty)
        let again = Self.writes(table.tick(now: 3_300))
        #expect(again.map(\.over) == [revision])
        _ = table.wrote(partition: 0, again[0].record, .stored(revision: revision + 1), now: 3_310)
        #expect(table.heldPartitions.contains(0) && table.maySend(for: 0, at: 5_299))
    }

    @Test mutating func aRenewalWithoutAnAnswerMayHaveSucceeded() {
        take()
        let renewal = Self.writes(table.tick(now: 3_000))[0]
        _ = table.wrote(partition: 0, renewal.record, .unknown, now: 3_900)
        #expect(table.observed(partition: 0, renewal.record, revision: revision + 1, now: 3_950).isEmpty)
        #expect(table.maySend(for: 0, at: 4_900))
        #expect(Self.writes(table.tick(now: 4_000)).map(\.over) == [revision + 1])
    }

    @Test mutating func othersLeaseIsTakenOnlyOnceItExpired() {
        let lease = LeaseRecord(holder: b.name, incarnation: 2, isFree: false, beat: 1)
        // The member lives at first, and then dies.
        for second in 0..<4 {
            let now = Deadline(milliseconds: Int64(second) * 1_000)
            table.observed(member: b.name, b, revision: UInt64(second) + 1, now: now)
            _ = table.observed(partition: 0, lease, revision: UInt64(second) + 50, now: now)
            #expect(Self.writes(table.tick(now: now)).isEmpty)
        }
        // A member's own records prove that the servers work.
        table.observed(member: a.name, a, revision: 90, now: 5_000)
        #expect(Self.writes(table.tick(now: 5_999)).isEmpty)
        #expect(Self.writes(table.tick(now: 6_000)).map(\.over) == [53])
    }

    @Test mutating func freeLeaseIsAcquiredImmediately() {
        var lease = LeaseRecord(holder: b.name, incarnation: 2, isFree: false, beat: 1)
        _ = table.observed(partition: 0, lease, revision: 50, now: 2_500)
        #expect(Self.writes(table.tick(now: 2_500)).isEmpty)
        lease.isFree = true
        _ = table.observed(partition: 0, lease, revision: 51, now: 2_600)
        #expect(Self.writes(table.tick(now: 2_600)).map(\.over) == [51])
    }

    @Test mutating func loserOfARaceDoesNotHoldTheLease() {
        _ = table.tick(now: 0)
        let attempt = Self.writes(table.tick(now: 2_000))[0].record
        #expect(table.wrote(partition: 0, attempt, .conflict, now: 2_010) == [.read(partition: 0)])
        let winner = LeaseRecord(holder: b.name, incarnation: 2, isFree: false, beat: 1)
        #expect(table.observed(partition: 0, winner, revision: 60, now: 2_020).isEmpty)
        #expect(!table.heldPartitions.contains(0) && Self.writes(table.tick(now: 3_100)).isEmpty)
    }

    @Test mutating func leaseTakenByAnotherIsLost() {
        take()
        let other = LeaseRecord(holder: b.name, incarnation: 2, isFree: false, beat: 1)
        #expect(table.observed(partition: 0, other, revision: 999, now: 2_500) == [.lost(partition: 0)])
        #expect(!table.maySend(for: 0, at: 2_500))
    }

    /// A process may be restarted under the name of another that still runs, so the name does not prove a lease.
    @Test mutating func restartedMemberOfTheSameNameIsAnother() {
        let former = LeaseRecord(holder: a.name, incarnation: 7, isFree: false, beat: 3)
        _ = table.observed(partition: 0, former, revision: 50, now: 2_000)
        #expect(Self.writes(table.tick(now: 2_000)).isEmpty)
        #expect(Self.writes(table.tick(now: 5_000)).map(\.over) == [50])
    }

    @Test mutating func leavingHandsEverythingOver() {
        take()
        let actions = table.leave(now: 3_000)
        #expect(actions.contains(.drain(partition: 0)))
        #expect(actions.contains { if case .announce(let record) = $0 { record.isLeaving } else { false } })
        // The lease is renewed until it is drained.
        revision += 1
        for (record, _) in Self.writes(actions) {
            _ = table.wrote(partition: 0, record, .stored(revision: revision), now: 3_000)
        }
        #expect(table.maySend(for: 0, at: 3_500))
        let release = Self.writes(table.release(0, now: 3_600))
        #expect(release.map(\.record.isFree) == [true] && !table.maySend(for: 0, at: 3_600))
        let end = table.wrote(partition: 0, release[0].record, .stored(revision: revision + 1), now: 3_700)
        #expect(end == [.lost(partition: 0), .left])
        #expect(Self.writes(tick(9_000)).isEmpty)
    }

    /// The share of a new member moves partition by partition, and only while the set of members is stable.
    @Test func partitionMovesToTheHighestRankingMember() {
        var table = LeaseTable(a, partitions: 32)
        table.becameCurrent(now: 0)
        var (revision, draining): (UInt64, [[Int]]) = (100, [])
        for second in 0..<12 {
            let now = Deadline(milliseconds: Int64(second) * 1_000)
            if second >= 4 { table.observed(member: b.name, b, revision: UInt64(second), now: now) }
            var drains: [Int] = []
            for action in table.tick(now: now) {
                switch action {
                case .write(let partition, let record, _):
                    revision += 1
                    _ = table.wrote(partition: partition, record, .stored(revision: revision), now: now)
                case .drain(let partition): drains.append(partition)
                default: break
                }
            }
            draining.append(drains)
        }
        #expect(table.heldPartitions.count == 32)
        // The first drain has not finished, so no second one starts.
        #expect(draining.flatMap(\.self).count == 1 && draining.firstIndex { !$0.isEmpty } == 6)
        #expect(Placement.owner(of: draining[6][0], among: [a.name, b.name]) == b.name)
    }

    /// Declines the partition, and returns the lists that the table announces for it. The lease is free then.
    private mutating func decline(_ now: Deadline) -> [[Int]] {
        let actions = table.decline(0, now: now)
        for (record, _) in Self.writes(actions) {
            #expect(record.isFree)
            revision += 1
            let end = table.wrote(partition: 0, record, .stored(revision: revision), now: now)
            #expect(end == [.lost(partition: 0)])
        }
        return actions.compactMap { if case .announce(let record) = $0 { record.declined } else { nil } }
    }

    /// A member leaves partitions that it cannot read to others, with growing pauses.
    @Test mutating func aDeclinedPartitionIsLeftToOthers() {
        take()
        #expect(decline(3_000) == [[0]])
        #expect(!table.maySend(for: 0, at: 3_000))
        #expect(Self.writes(tick(32_900)).isEmpty)
        // It tries again, and waits for twice as long.
        #expect(tick(33_000).contains(.acquired(partition: 0)))
        #expect(decline(33_100) == [[0]])
        #expect(Self.writes(tick(93_000)).isEmpty)
        #expect(tick(93_100).contains(.acquired(partition: 0)))
        // After a successful read, the pauses start with the first one again.
        table.accept(0)
        #expect(decline(94_000) == [[0]])
        #expect(Self.writes(tick(123_900)).isEmpty)
        #expect(tick(124_000).contains(.acquired(partition: 0)))
    }

    /// While the servers elect a leader, no member can renew a lease, but all members count as living.
    @Test func membersSurviveASilentBucket() throws {
        let c = MemberRecord(name: .known("c"), incarnation: 3)
        var table = LeaseTable(a, partitions: 8)
        var revision: UInt64 = 100
        /// Returns the partitions that the table takes if each write succeeds immediately.
        func tick(_ now: Deadline) -> Set<Int> {
            var taken: Set<Int> = []
            for action in table.tick(now: now) {
                guard case .write(let partition, let record, _) = action else { continue }
                revision += 1
                for action in table.wrote(partition: partition, record, .stored(revision: revision), now: now) {
                    if case .acquired(let partition) = action { taken.insert(partition) }
                }
            }
            return taken
        }
        func see(_ members: [MemberRecord], _ now: Deadline) {
            for member in members {
                revision += 1
                table.observed(member: member.name, member, revision: revision, now: now)
            }
        }
        func share(_ names: [MemberName]) -> Set<Int> {
            Set((0..<8).filter { Placement.owner(of: $0, among: Set(names)) == a.name })
        }
        table.becameCurrent(now: 0)
        for second in 0..<4 { see([b, c], Deadline(milliseconds: Int64(second) * 1_000)) }
        #expect(tick(3_000) == share([a.name, b.name, c.name]))
        // From now on there are no servers for seven seconds; this member's leases end in that time.
        for now: Deadline in [5_000, 7_000, 9_900] {
            for action in table.tick(now: now) {
                if case .write(let partition, let record, _) = action {
                    _ = table.wrote(partition: partition, record, .unknown, now: now)
                    table.readFailed(partition: partition)
                }
            }
            #expect(Set(table.members.living(at: now).map(\.name)) == [a.name, b.name, c.name])
        }
        #expect(table.heldPartitions.isEmpty)
        // Then it takes its own partitions, and none of members that had no time to write yet.
        #expect(tick(10_300) == share([a.name, b.name, c.name]))
        see([b], 10_800)
        #expect(tick(11_700).isEmpty)
        // One of them is gone.
        #expect(tick(11_800) == share([a.name, b.name]).subtracting(share([a.name, b.name, c.name])))
    }

    @Test mutating func partitionDeclinedByAnotherIsAcquired() throws {
        let other = try #require(
            (0..<50).lazy.map { MemberName.known("b\($0)") }.first {
                Placement.owner(of: 0, among: [$0, a.name]) == $0
            }
        )
        var record = MemberRecord(name: other, incarnation: 2)
        table.observed(member: other, record, revision: 1, now: 2_500)
        #expect(Self.writes(tick(2_500)).isEmpty)
        record.declined = [0]
        table.observed(member: other, record, revision: 2, now: 2_600)
        #expect(tick(2_600).contains(.acquired(partition: 0)))
    }
}

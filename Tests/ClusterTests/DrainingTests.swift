import Core
import RouterConfiguration
import Testing
import TimeTestSupport

@testable import Cluster

/// Operators' decisions about members and partitions, carried out by two tables that see each other.
struct DrainingTests {
    private static let partitions = 8
    private var a = LeaseTable(MemberRecord(name: .known("a"), incarnation: 1), partitions: partitions)
    private var b = LeaseTable(MemberRecord(name: .known("b"), incarnation: 2), partitions: partitions)
    private var revision: UInt64 = 0

    init() {
        a.becameCurrent(now: 0)
        b.becameCurrent(now: 0)
        run(from: 0, to: 6_000)
    }

    /// Carries out a table's actions, informs the other one, and finishes drains immediately.
    private mutating func carry(_ actions: [LeaseTable.Action], of isA: Bool, _ now: Deadline) {
        var open = actions
        while !open.isEmpty {
            let action = open.removeFirst()
            switch action {
            case .announce(let record):
                revision += 1
                // A member's own record proves that the servers work.
                a.observed(member: record.name, record, revision: revision, now: now)
                b.observed(member: record.name, record, revision: revision, now: now)
            case .write(let partition, let record, _):
                revision += 1
                if isA {
                    open += a.wrote(partition: partition, record, .stored(revision: revision), now: now)
                    _ = b.observed(partition: partition, record, revision: revision, now: now)
                } else {
                    open += b.wrote(partition: partition, record, .stored(revision: revision), now: now)
                    _ = a.observed(partition: partition, record, revision: revision, now: now)
                }
            case .drain(let partition):
                open += isA ? a.release(partition, now: now) : b.release(partition, now: now)
            case .read, .acquired, .lost, .left: break
            }
        }
    }

    private mutating func run(from start: Int64, to end: Int64) {
        for milliseconds in stride(from: start, through: end, by: 100) {
            let now = Deadline(milliseconds: milliseconds)
            carry(a.tick(now: now), of: true, now)
            carry(b.tick(now: now), of: false, now)
        }
    }

    private mutating func drain(_ isOn: Bool, at milliseconds: Int64) {
        let now = Deadline(milliseconds: milliseconds)
        carry(a.drain(isOn, now: now), of: true, now)
    }

    @Test mutating func drainedMemberHandsOverImmediatelyAndAcquiresNone() {
        #expect(!a.heldPartitions.isEmpty && !b.heldPartitions.isEmpty)
        drain(true, at: 6_050)
        #expect(a.heldPartitions.isEmpty)
        run(from: 6_100, to: 6_300)
        #expect(b.heldPartitions.count == Self.partitions)
        run(from: 6_400, to: 15_000)
        #expect(a.heldPartitions.isEmpty && b.heldPartitions.count == Self.partitions)
        #expect(b.members.living(at: 15_000).map(\.isDrained) == [true, false])
    }

    @Test mutating func undrainedMemberTakesItsShareAgain() {
        let share = a.heldPartitions
        drain(true, at: 6_050)
        run(from: 6_100, to: 9_000)
        drain(false, at: 9_050)
        run(from: 9_100, to: 25_000)
        #expect(a.heldPartitions == share && b.heldPartitions.count == Self.partitions - share.count)
    }

    @Test mutating func lastMemberServesEvenIfDrained() {
        drain(true, at: 6_050)
        run(from: 6_100, to: 9_000)
        // Member b is killed.
        for milliseconds in stride(from: Int64(9_100), through: 16_000, by: 100) {
            let now = Deadline(milliseconds: milliseconds)
            carry(a.tick(now: now), of: true, now)
        }
        #expect(a.heldPartitions.count == Self.partitions)
        #expect(a.members.missing(at: 16_000).map(\.name) == [.known("b")])
    }

    @Test mutating func movedPartitionStaysWithItsMember() throws {
        let partition = try #require(a.heldPartitions.first)
        a.observed(move: partition, to: .known("b"))
        b.observed(move: partition, to: .known("b"))
        run(from: 6_100, to: 9_000)
        #expect(b.heldPartitions.contains(partition) && !a.heldPartitions.contains(partition))
        #expect(a.members.moves[partition] == .known("b"))
        // No other partition moves.
        #expect(a.heldPartitions.count + b.heldPartitions.count == Self.partitions)
        a.observed(move: partition, to: nil)
        b.observed(move: partition, to: nil)
        run(from: 9_100, to: 12_000)
        #expect(a.heldPartitions.contains(partition) && !b.heldPartitions.contains(partition))
    }

    @Test mutating func moveToAMissingMemberIsIgnored() throws {
        let partition = try #require(a.heldPartitions.first)
        a.observed(move: partition, to: .known("c"))
        b.observed(move: partition, to: .known("c"))
        run(from: 6_100, to: 9_000)
        #expect(a.heldPartitions.contains(partition))
    }

    @Test mutating func memberThatLeavesIsNotMissing() {
        let now = Deadline(milliseconds: 6_050)
        carry(b.leave(now: now), of: false, now)
        for milliseconds in stride(from: Int64(6_100), through: 12_000, by: 100) {
            let now = Deadline(milliseconds: milliseconds)
            carry(a.tick(now: now), of: true, now)
        }
        #expect(a.members.missing(at: 12_000).isEmpty && a.heldPartitions.count == Self.partitions)
    }
}

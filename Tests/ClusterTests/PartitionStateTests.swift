import Core
import CostTestSupport
import Delivery
import DeliveryTestSupport
import Foundation
import Push
import RandomTestSupport
import RouterConfiguration
import Testing
import TimeTestSupport

@testable import Cluster

/// A log produces the same state as an outbox after the same transactions.
struct PartitionStateTests {
    private struct Contents: Equatable {
        var waiting: [Int64: PartitionState.Waiting] = [:]
        var paces: [DeviceID: PaceRow] = [:]
        var held: [HeldKey: HeldRow] = [:]
        var members: [HeldMemberKey: HeldMember] = [:]
        var causes: Set<[UInt8]> = []
    }

    @Test(arguments: 0..<UInt64(TestLength.rounds(8, long: 200)))
    func replayedLogMatchesTheOutbox(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let folder = FileManager.default.temporaryDirectory.appending(path: "state-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let outbox = try Outbox(path: folder.appending(path: "outbox.sqlite").path)
        var state = PartitionState()
        let name = try #require(MemberName("a"))
        let beginning = LogRecord.Beginning(previousEpoch: 0, previousIndex: 0, member: name)
        try state.apply(LogRecord(.init(epoch: 1, author: 1, index: 0), .beginning(beginning)))
        for index in 1...40 {
            let transaction = Self.transaction(index, in: state, &random)
            let record = LogRecord(
                LogRecord.Identity(epoch: 1, author: 1, index: UInt64(index)),
                .transactions([transaction], firstDelivery: state.nextDelivery)
            )
            // In binary form, as another member reads it.
            try state.apply(LogRecord(record.bytes))
            try outbox.insert(
                transaction.deliveries,
                causes: transaction.causes,
                pace: transaction.pace,
                handOver: { _ in }
            )
            try outbox.apply(Self.asOutbox(transaction.changes))
        }
        let expected = try Self.contents(of: outbox, known: state)
        #expect(state.waiting == expected.waiting)
        #expect(state.paces == expected.paces)
        #expect(state.held == expected.held)
        #expect(state.members == expected.members)
        #expect(Array(state.withdrawals) == (try outbox.withdrawals()) && !state.withdrawals.isEmpty)
        #expect(expected.causes.allSatisfy(state.isKnown))
        #expect(try PartitionState(snapshot: state.snapshot()) == state)
        #expect(!state.waiting.isEmpty && !state.held.isEmpty && !state.members.isEmpty && !state.paces.isEmpty)
    }

    /// Returns the changes with outbox keys, which have the number of their queue; this test has one.
    private static func asOutbox(_ changes: OutboxChanges) -> OutboxChanges {
        func key(_ key: OutboxKey) -> OutboxKey { OutboxKey(queue: 1, sequence: key.sequence) }
        var result = changes
        result.removals = changes.removals.map(key)
        for index in result.newDeadLetters.indices {
            result.newDeadLetters[index].key = key(result.newDeadLetters[index].key)
        }
        for index in result.reschedulings.indices {
            result.reschedulings[index].key = key(result.reschedulings[index].key)
        }
        for index in result.immediateRetries.indices {
            result.immediateRetries[index].key = key(result.immediateRetries[index].key)
        }
        return result
    }

    private static func contents(of outbox: Outbox, known: PartitionState) throws -> Contents {
        var contents = Contents()
        let first = try outbox.firstTries(of: 1, after: OutboxKey(number: 0), limit: 10_000).deliveries
        let start = RetryPlace(due: .distantPast, key: OutboxKey(number: 0))
        let again = try outbox.retries(of: 1, from: start, limit: 10_000).deliveries
        for stored in first + again {
            contents.waiting[stored.key.sequence] = PartitionState.Waiting(
                delivery: stored.delivery,
                attempts: stored.attempts,
                due: stored.due,
                failure: stored.failure
            )
        }
        // A time before all rows, so that none expires.
        try outbox.loadPaces(at: Timestamp(milliseconds: 0)) { row in
            // When an outbox is opened, a push without a delivery counts as sent; here it does not.
            var row = row
            if let before = known.paces[row.device], before.underWay != row.underWay {
                (row.underWay, row.pushedAt) = (before.underWay, before.pushedAt)
            }
            contents.paces[row.device] = row
        } member: { member in
            contents.members[member.key] = member
        } held: { row in
            contents.held[row.key] = row
        }
        try outbox.forEachCause { contents.causes.insert(Array($0)) }
        return contents
    }

    private static func transaction(
        _ index: Int,
        in state: PartitionState,
        _ random: inout SeededGenerator
    ) -> LogTransaction {
        func device(_ random: inout SeededGenerator) -> DeviceID {
            DeviceID(rawValue: .random(in: 1...4, using: &random))
        }
        func moment(_ random: inout SeededGenerator) -> Timestamp {
            Timestamp(milliseconds: .random(in: 1...400_000_000, using: &random))
        }
        var transaction = LogTransaction()
        for number in 0..<Int.random(in: 0...3, using: &random) {
            transaction.deliveries.append(.sample(100 * index + number, device: device(&random).rawValue))
            transaction.causes.append((0..<32).map { _ in .random(in: 0...255, using: &random) })
        }
        let ids = state.waiting.values.map(\.delivery.id).sorted() + transaction.deliveries.map(\.id)
        if random.chance(0.05) { transaction.pace.forgotten = [device(&random)] }
        if random.chance(0.6) {
            transaction.pace.rows = [
                PaceRow(
                    device: device(&random),
                    pushedAt: moment(&random),
                    windowStart: moment(&random),
                    matches: 2,
                    dayOfPushes: .random(in: 0...4, using: &random),
                    pushes: .random(in: 0...3, using: &random),
                    underWay: ids.randomElement(using: &random),
                    releasedAt: moment(&random),
                    unblocked: .random(in: 0...3, using: &random),
                    silentPushes: random.chance(0.3) ? [moment(&random)] : []
                )
            ]
        }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let key = HeldKey(device: device(&random), slot: .random(in: 0...3, using: &random))
            guard !transaction.pace.held.contains(where: { $0.key == key }) else { continue }
            let members = (0..<Int.random(in: 0...2, using: &random)).map { UInt8($0) }
            transaction.pace.held.append(.sample(key, members: members, count: UInt32(index)))
            let member = HeldMemberKey(device: key.device, number: .random(in: 0...3, using: &random))
            if random.chance(0.3) { transaction.pace.removed.append(member) }
            guard random.chance(0.7), !transaction.pace.members.contains(where: { $0.key == member }) else { continue }
            transaction.pace.members.append(.sample(member, sealedTo: random.chance(0.5) ? 4 : nil))
        }
        if random.chance(0.4) {
            let author = SIMD4<UInt64>.random(in: 0...9, using: &random)
            let address = Int64.random(in: .min ... .max, using: &random)
            let scopes: [Withdrawal.Scope] = [.event(author), .address(address), .everything, .olderVersions(address)]
            transaction.pace.withdrawn = scopes.map { Withdrawal(author: author, $0, until: address) }
        }
        if random.chance(0.2), let key = state.held.keys.map(\.rawValue).sorted().randomElement(using: &random) {
            transaction.pace.released = [HeldKey(rawValue: key)]
        }
        for number in state.waiting.keys.sorted() where random.chance(0.3) {
            let key = OutboxKey(number: number)
            let failure = FailedAttempt(.retry, status: 503, reason: "busy")
            switch Int.random(in: 0...3, using: &random) {
            case 0: transaction.changes.removals.append(key)
            case 1:
                transaction.changes.reschedulings.append(
                    OutboxChanges.Rescheduling(
                        key: key,
                        due: moment(&random),
                        attempts: index,
                        failure: random.chance(0.5) ? failure : nil
                    )
                )
            case 2:
                transaction.changes.immediateRetries.append(RetryPlace(due: moment(&random), key: key))
            default:
                transaction.changes.removals.append(key)
                transaction.changes.newDeadLetters.append(
                    OutboxChanges.NewDeadLetter(key: key, failure: failure, failedAt: 5, attempts: 2)
                )
            }
        }
        for row in state.paces.values.sorted(by: { $0.device < $1.device }) where random.chance(0.4) {
            guard let underWay = row.underWay else { continue }
            let counts = random.chance(0.5)
            transaction.changes.ends.append(
                CompletedPush(
                    device: row.device,
                    delivery: underWay,
                    counts: counts,
                    stopsBlocking: !counts && random.chance(0.5),
                    moment: moment(&random)
                )
            )
        }
        return transaction
    }

    @Test func causesAndLettersAreBounded() throws {
        var limits = PartitionState.Limits()
        (limits.causes, limits.deadLetters) = (2, 1)
        var state = PartitionState(limits: limits)
        let name = try #require(MemberName("a"))
        let beginning = LogRecord.Beginning(previousEpoch: 0, previousIndex: 0, member: name)
        try state.apply(LogRecord(.init(epoch: 1, author: 1, index: 0), .beginning(beginning)))
        var last = LogTransaction.sample(4)
        last.changes.newDeadLetters = [Int64(1), 2].map {
            let failure = FailedAttempt(.rejected, reason: "no")
            return OutboxChanges.NewDeadLetter(key: OutboxKey(number: $0), failure: failure, failedAt: 1, attempts: 1)
        }
        let body = LogRecord.Body.transactions([.sample(1, 2, 3), last], firstDelivery: 1)
        try state.apply(LogRecord(.init(epoch: 1, author: 1, index: 1), body))
        #expect((1...4).map { state.isKnown([UInt8](repeating: $0, count: 32)) } == [false, false, true, true])
        #expect(state.deadLetters.values.map(\.delivery.id) == ["d2"])
    }

    @Test func recordsFollowEachOther() throws {
        var state = PartitionState()
        let name = try #require(MemberName("a"))
        func beginning(_ epoch: UInt64, after previous: (UInt64, UInt64)) -> LogRecord {
            let body = LogRecord.Beginning(
                previousEpoch: previous.0,
                previousIndex: previous.1,
                member: name
            )
            return LogRecord(LogRecord.Identity(epoch: epoch, author: epoch, index: 0), .beginning(body))
        }
        func record(_ epoch: UInt64, _ index: UInt64, first: Int64) -> LogRecord {
            let identity = LogRecord.Identity(epoch: epoch, author: epoch, index: index)
            return LogRecord(identity, .transactions([.sample(Int(index))], firstDelivery: first))
        }
        #expect(throws: PartitionLogError.gap) { try state.apply(record(1, 1, first: 1)) }
        try state.apply(beginning(1, after: (0, 0)))
        #expect(throws: PartitionLogError.gap) { try state.apply(record(1, 2, first: 1)) }
        #expect(throws: PartitionLogError.gap) { try state.apply(record(2, 1, first: 1)) }
        #expect(throws: PartitionLogError.gap) { try state.apply(record(1, 1, first: 2)) }
        try state.apply(record(1, 1, first: 1))
        #expect(throws: PartitionLogError.gap) { try state.apply(record(1, 1, first: 2)) }
        #expect(throws: PartitionLogError.gap) { try state.apply(beginning(2, after: (1, 0))) }
        #expect(throws: PartitionLogError.gap) { try state.apply(beginning(1, after: (1, 1))) }
        try state.apply(beginning(2, after: (1, 1)))
        try state.apply(record(2, 1, first: 2))
        #expect(state.waiting.count == 2)
    }
}

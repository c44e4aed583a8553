import Core
import Delivery
import DeliveryTestSupport
import Push
import RouterConfiguration
import Testing
import TimeTestSupport

@testable import Cluster

/// The log of one partition with scripted responses.
struct PartitionLogTests {
    private let storage = SimulatedStorage(partitions: 1, looksAtIDsFirst: true, bug: .none)
    private var settings = PartitionLog.Settings()

    init() { settings.snapshotRecords = 1_000 }

    private func log(_ author: UInt64) -> PartitionLog {
        PartitionLog(partition: 0, member: .known("m\(author)"), author: author, settings: settings)
    }

    /// Sends the log's requests to the storage until none are left. Returns the log's other actions.
    private func run(_ log: inout PartitionLog, _ actions: [PartitionLog.Action]) -> [PartitionLog.Action] {
        var (said, open): ([PartitionLog.Action], [PartitionLog.Action]) = ([], actions)
        while !open.isEmpty {
            let action = open.removeFirst()
            if case .ask(let question, let ticket) = action {
                open += log.answered(ticket, storage.answer(question, 0), now: 0)
            } else {
                said.append(action)
            }
        }
        return said
    }

    private func opened(_ author: UInt64) -> PartitionLog {
        var log = log(author)
        let actions = log.open(now: 0)
        #expect(run(&log, actions) == [.opened])
        return log
    }

    private func commit(_ transaction: LogTransaction, to log: inout PartitionLog) throws -> [PartitionLog.Action] {
        let actions = try log.commit(transaction, now: 0).actions
        return run(&log, actions)
    }

    @Test func committedTransactionIsReadByTheNextOwner() throws {
        var first = opened(1)
        let said = try commit(.sample(1, 2), to: &first)
        let deliveries = LogTransaction.sample(1, 2).deliveries
        #expect(said == [.committed([.init(number: 1, firstDelivery: 1, deliveries: deliveries)])])
        let second = opened(2)
        #expect(second.state.waiting.mapValues(\.delivery.id) == [1: "d1", 2: "d2"])
        #expect(second.state.identity == LogRecord.Identity(epoch: 2, author: 2, index: 0))
        #expect(second.state.isKnown([UInt8](repeating: 2, count: 32)))
    }

    /// A foreign message must not close the partition permanently.
    @Test func foreignMessageInTheLogIsSkipped() throws {
        var first = opened(1)
        _ = try commit(.sample(1), to: &first)
        storage.intrude(0)
        storage.intrude(0, repeating: 1)
        // The owner reads both before its own record, and its next append follows them.
        let said = try commit(.sample(2), to: &first)
        let deliveries = LogTransaction.sample(2).deliveries
        #expect(said == [.committed([.init(number: 2, firstDelivery: 2, deliveries: deliveries)])])
        storage.intrude(0)
        let opened = opened(2)
        #expect(opened.state.waiting.mapValues(\.delivery.id) == [1: "d1", 2: "d2"])
        // More of them than one response holds; they do not hide the new owner.
        var second = opened
        for _ in 0..<10 { storage.intrude(0) }
        _ = try commit(.sample(3), to: &second)
        #expect(try commit(.sample(4), to: &first) == [.closed(.fenced)])
        #expect(storage.violation == nil)
    }

    /// The log contains the positions in relays: marks wait for no commit and delay none.
    @Test func marksAreReadByTheNextOwner() throws {
        var first = opened(1)
        var actions = first.note([RelayMark(relay: "wss://a.example", moment: 5)], now: 0)
        actions += first.note([RelayMark(relay: "wss://a.example", moment: 6)], now: 0)
        actions += try first.commit(.sample(1), now: 0).actions
        // One append is in flight, and the commit precedes the second mark.
        #expect(actions.count == 1 && !first.isIdle)
        #expect(run(&first, actions).count == 1 && first.isIdle)
        #expect(opened(2).state.relays == ["wss://a.example": 6])
        // A former owner's marks are rejected like its other records.
        let late = first.note([RelayMark(relay: "wss://a.example", moment: 9)], now: 0)
        #expect(run(&first, late) == [.closed(.fenced)])
        var third = opened(3)
        let forgotten = third.note([RelayMark(relay: "wss://a.example", moment: nil)], now: 0)
        #expect(run(&third, forgotten) == [])
        let end = third.finish(now: 0)
        #expect(run(&third, end) == [.finished])
        #expect(opened(4).state.relays.isEmpty)
    }

    @Test func aFormerOwnerIsFenced() throws {
        var first = opened(1)
        _ = opened(2)
        #expect(try commit(.sample(1), to: &first) == [.closed(.fenced)])
        #expect(throws: PartitionLogError.notOpen) { try first.commit(.sample(2), now: 0) }
        #expect(opened(3).state.waiting.isEmpty)
    }

    /// One append is in flight at a time; commits that arrive until then share the next record.
    @Test func commitsShareRecords() throws {
        var log = opened(1)
        var actions = try log.commit(.sample(1), now: 0).actions
        #expect(actions.count == 1)
        for number in 2...4 { actions += try log.commit(.sample(number), now: 0).actions }
        #expect(actions.count == 1 && !log.isIdle)
        let said = run(&log, actions)
        let numbers = said.map { action -> [Int64] in
            if case .committed(let commits) = action { commits.map(\.firstDelivery) } else { [] }
        }
        #expect(numbers == [[1], [2, 3, 4]])
        #expect(log.state.identity.index == 2 && log.isIdle)
    }

    /// The response to an append is lost: the repetition finds it stored, even if the server does not know its id.
    @Test(arguments: [true, false])
    func anAppendWithoutAnAnswerIsRepeated(knowsIDs: Bool) throws {
        let storage = SimulatedStorage(partitions: 1, looksAtIDsFirst: knowsIDs, bug: .none)
        var log = log(1)
        var open = log.open(now: 0)
        var (said, losesNext): ([PartitionLog.Action], Bool) = ([], false)
        func step(_ log: inout PartitionLog, _ now: Deadline) {
            while !open.isEmpty {
                guard case .ask(let question, let ticket) = open[0] else {
                    said.append(open.removeFirst())
                    continue
                }
                open.removeFirst()
                let answer = storage.answer(question, 0)
                open += log.answered(ticket, losesNext ? .unavailable : answer, now: now)
                losesNext = false
            }
        }
        step(&log, 0)
        losesNext = true
        open = try log.commit(.sample(1), now: 0).actions
        step(&log, 0)
        #expect(said == [.opened] && log.nextDeadline == 50)
        open = log.tick(now: 50)
        step(&log, 50)
        #expect(said.count == 2 && storage.appends == 2)
        #expect(log.state.waiting.count == 1)
    }

    @Test func snapshotReplacesPurgedRecords() throws {
        var log = opened(1)
        for number in 1...5 { _ = try commit(.sample(number), to: &log) }
        let actions = log.finish(now: 0)
        #expect(run(&log, actions) == [.finished])
        #expect(storage.answer(.records(after: 0), 0) == .records([], isLast: true) || storage.snapshots == 1)
        guard case .records(let records, _) = storage.answer(.records(after: 0), 0) else { return }
        // The last record stays: without it, the next append's condition would differ.
        #expect(records.count == 1)
        let next = opened(2)
        #expect(next.state.waiting.count == 5 && next.state.nextDelivery == 6)
    }

    /// A member that stopped during its snapshot must not restore an older one.
    @Test func aLateHeadIsRefused() throws {
        var first = opened(1)
        _ = try commit(.sample(1), to: &first)
        guard case .ask(.storePart(let name, let index, let bytes), let ticket)? = first.finish(now: 0).first else {
            Issue.record("no snapshot began")
            return
        }
        let part = storage.answer(.storePart(name: name, index: index, bytes), 0)
        let late = first.answered(ticket, part, now: 0)
        var second = opened(2)
        _ = try commit(.sample(2), to: &second)
        let actions = second.finish(now: 0)
        #expect(run(&second, actions) == [.finished])
        #expect(run(&first, late) == [.closed(.fenced)])
        #expect(opened(3).state.waiting.count == 2)
    }

    @Test func damageIsReported() throws {
        var log = opened(1)
        _ = try commit(.sample(1), to: &log)
        var next = self.log(2)
        var open = next.open(now: 0)
        var (said, now): ([PartitionLog.Action], Deadline) = ([], 0)
        for _ in 0..<100 where said.isEmpty {
            while !open.isEmpty {
                let action = open.removeFirst()
                guard case .ask(let question, let ticket) = action else {
                    said.append(action)
                    continue
                }
                var answer = storage.answer(question, 0)
                // The first record is gone.
                if case .records(let records, let isLast) = answer {
                    answer = .records(Array(records.dropFirst()), isLast: isLast)
                }
                open += next.answered(ticket, answer, now: now)
            }
            now += .seconds(2)
            open = next.tick(now: now)
        }
        #expect(said == [.closed(.damaged("records are missing"))])
    }

    @Test func transactionTooLongForARecordIsRefused() throws {
        var log = opened(1)
        var transaction = LogTransaction.sample(1)
        transaction.deliveries[0].notification.body = String(repeating: "a", count: 600_000)
        #expect(throws: PartitionLogError.self) { try log.commit(transaction, now: 0) }
        #expect(log.isIdle)
    }
}

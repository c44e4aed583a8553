import Core
import Delivery
import DeliveryTestSupport
import Push
import RouterConfiguration
import Synchronization
import Testing
import TimeTestSupport

@testable import Cluster

/// The log of one partition, which acknowledges immediately.
private final class InstantLog: Sendable {
    private struct Log {
        var state = PartitionState()
        var records: [[UInt8]] = []
        var refusal: PartitionLogError?
        weak var store: LoggedStore?
    }

    private let log: Mutex<Log>

    init() throws {
        var state = PartitionState()
        let beginning = LogRecord.Beginning(previousEpoch: 0, previousIndex: 0, member: .known("a"))
        try state.apply(LogRecord(.init(epoch: 1, author: 1, index: 0), .beginning(beginning)))
        log = Mutex(Log(state: state))
    }

    var state: PartitionState { log.withLock(\.state) }
    var records: Int { log.withLock(\.records.count) }

    func refuse(_ error: PartitionLogError) { log.withLock { $0.refusal = error } }

    /// Returns a store made from the log, the way a new owner makes it.
    func store() throws -> LoggedStore {
        let store = try LoggedStore(state, limit: 1_000) { [weak self] transaction throws(PartitionLogError) in
            guard let self else { throw .notOpen }
            return try commit(transaction)
        }
        log.withLock { $0.store = store }
        return store
    }

    private func commit(_ transaction: LogTransaction) throws(PartitionLogError) -> UInt64 {
        let (store, commit) = try log.withLock { log throws(PartitionLogError) -> (LoggedStore?, PartitionLog.Commit) in
            if let refusal = log.refusal { throw refusal }
            let size = EncodedTransaction(transaction).bytes.count
            guard size + LogRecord.headSize <= LogRecord.longest else { throw .tooLong(size) }
            let number = UInt64(log.records.count + 1)
            let first = log.state.nextDelivery
            let record = LogRecord(
                LogRecord.Identity(epoch: 1, author: 1, index: number),
                .transactions([transaction], firstDelivery: first)
            )
            try log.state.apply(record)
            log.records.append(record.bytes)
            let commit = PartitionLog.Commit(
                number: number,
                firstDelivery: first,
                deliveries: transaction.deliveries
            )
            return (log.store, commit)
        }
        store?.committed([commit])
        return commit.number
    }
}

struct LoggedStoreTests {
    private static func waiting(_ store: LoggedStore) throws -> [StoredDelivery] {
        try store.outbox.waitingQueues().flatMap { queue in
            let first = try store.firstTries(
                of: queue.number,
                after: OutboxKey(queue: queue.number, sequence: 0),
                limit: 1_000
            )
            let later = try store.retries(
                of: queue.number,
                from: RetryPlace(due: .epoch, key: OutboxKey(queue: queue.number, sequence: 0)),
                limit: 1_000
            )
            return first.deliveries + later.deliveries
        }
    }

    @Test func queuedDeliveriesAreInTheLog() throws {
        let log = try InstantLog()
        let store = try log.store()
        var handedOver: [StoredDelivery] = []
        try store.insert((1...5).map { Delivery.sample($0, device: Int64($0)) }) { handedOver = $0 }
        #expect(handedOver.map(\.delivery.id) == ["d1", "d2", "d3", "d4", "d5"] && store.outbox.count == 5)
        var changes = OutboxChanges()
        changes.removals = [handedOver[0].key, handedOver[2].key]
        changes.reschedulings = [
            OutboxChanges.Rescheduling(key: handedOver[1].key, due: 500, attempts: 3, failure: nil)
        ]
        try store.apply(changes)
        #expect(log.state.waiting.values.map(\.delivery.id).sorted() == ["d2", "d4", "d5"])
        // The next owner finds the same state.
        let next = try log.store()
        let found = try Self.waiting(next)
        #expect(found.map(\.delivery.id).sorted() == ["d2", "d4", "d5"] && next.outbox.count == 3)
        #expect(found.first { $0.delivery.id == "d2" }?.attempts == 3)
        // Its keys differ, and map to the right numbers.
        var ends = OutboxChanges()
        ends.removals = found.filter { $0.delivery.id != "d4" }.map(\.key)
        try next.apply(ends)
        #expect(log.state.waiting.values.map(\.delivery.id) == ["d4"])
    }

    @Test func pacesAndHeldGroupsAreTransferred() throws {
        let log = try InstantLog()
        let full = LogTransaction.full
        try log.store().insert(full.deliveries, causes: full.causes, pace: full.pace) { _ in }
        let next = try log.store()
        var (rows, held): ([PaceRow], [HeldRow]) = ([], [])
        try next.outbox.loadPaces(at: 20) {
            rows.append($0)
        } member: { _ in
        } held: {
            held.append($0)
        }
        #expect(rows.map(\.device) == full.pace.rows.map(\.device) && rows.first?.matches == 3)
        #expect(held.count == 3 && log.state.knownCauses == full.causes)
        let key = HeldMemberKey(device: DeviceID(rawValue: 5), number: 7)
        let member = try #require(try next.outbox.heldNotification(key))
        let origin = HeldMember.sample(key, sealedTo: -1).held.notification.origin
        #expect(member.sealedTo == -1 && member.notification.origin == origin)
        #expect(try next.outbox.withdrawals() == full.pace.withdrawn)
        var authors: [SIMD4<UInt64>] = []
        try next.outbox.forEachAuthor { authors.append($0) }
        #expect(authors == [SIMD4(1, 2, 3, .max)])
    }

    @Test func deliveriesRefusedByTheLogAreNotStored() throws {
        let log = try InstantLog()
        let store = try log.store()
        log.refuse(.notOpen)
        var isHandedOver = false
        #expect(throws: PartitionLogError.notOpen) {
            try store.insert([.sample(1)]) { _ in isHandedOver = true }
        }
        #expect(!isHandedOver && store.outbox.count == 0 && log.records == 0)
    }

    @Test func transactionTooLongForARecordIsSplit() throws {
        let log = try InstantLog()
        let store = try log.store()
        let deliveries = (1...20_000).map { Delivery.sample($0, device: Int64($0)) }
        var handedOver: [DeliveryID] = []
        let cause = [UInt8](repeating: 1, count: 32)
        try store.insert(deliveries, causes: [cause], pace: PaceChanges()) { stored in
            handedOver += stored.map(\.delivery.id)
        }
        #expect(log.records > 1 && handedOver == deliveries.map(\.id))
        #expect(log.state.waiting.count == 20_000 && log.state.isKnown(cause))
        var changes = OutboxChanges()
        changes.removals = try Self.keys(store)
        changes.ends = (1...20_000).map {
            CompletedPush(
                device: DeviceID(rawValue: Int64($0)),
                delivery: "x",
                counts: true,
                moment: 5
            )
        }
        try store.apply(changes)
        #expect(log.state.waiting.isEmpty && store.outbox.count == 0)
    }

    private static func keys(_ store: LoggedStore) throws -> [OutboxKey] {
        var keys: [OutboxKey] = []
        for queue in try store.outbox.waitingQueues() {
            var last = OutboxKey(queue: queue.number, sequence: 0)
            while true {
                let page = try store.firstTries(of: queue.number, after: last, limit: 5_000)
                guard let end = page.deliveries.last else { break }
                keys += page.deliveries.map(\.key)
                last = end.key
            }
        }
        return keys
    }

    /// Lets the deliveries fail permanently at that moment.
    private static func addDeadLetters(_ stored: [StoredDelivery], in store: LoggedStore, at moment: Timestamp) throws {
        var changes = OutboxChanges()
        changes.removals = stored.map(\.key)
        changes.newDeadLetters = stored.map { stored in
            OutboxChanges.NewDeadLetter(
                key: stored.key,
                failure: FailedAttempt(.rejected, status: 400, reason: "BadTopic"),
                failedAt: moment,
                attempts: 2
            )
        }
        try store.apply(changes)
    }

    private static func letters(_ store: LoggedStore) throws -> [QueueEntry] {
        var selection = QueueSelection()
        selection.isWaitingWanted = false
        return try store.reader.entries(selection, limit: 1_000)
    }

    @Test func deadLettersAreFoundAndRequeuedByTheNextOwner() throws {
        let log = try InstantLog()
        let first = try log.store()
        var stored: [StoredDelivery] = []
        try first.insert((1...3).map { Delivery.sample($0, device: Int64($0)) }) { stored = $0 }
        try Self.addDeadLetters(Array(stored.prefix(2)), in: first, at: 500)
        #expect(first.outbox.deadLetterCount == 2 && first.outbox.count == 1)

        let next = try log.store()
        let found = try Self.letters(next)
        #expect(found.map(\.id) == ["d1", "d2"] && found.allSatisfy { $0.attempts == 2 && $0.failedAt == 500 })
        #expect(found.first?.failure == FailedAttempt(.rejected, status: 400, reason: "BadTopic"))
        var again: [StoredDelivery] = []
        #expect(try next.requeue([found[1]].compactMap(\.letter), at: 900) { again += $0 } == 1)
        #expect(again.map(\.delivery.id) == ["d2"] && again.first?.delivery.acceptedAt == 900)
        #expect(try Self.letters(next).map(\.id) == ["d1"] && next.outbox.count == 2)
        #expect(log.state.deadLetters.values.map(\.delivery.id) == ["d1"])
        #expect(log.state.waiting.values.map(\.delivery.id).sorted() == ["d2", "d3"])
        // A delivery that has ended since then is not sent.
        #expect(try next.requeue([found[1]].compactMap(\.letter), at: 901) { _ in } == 0)
        // Its second end maps to the right number in the log.
        try Self.addDeadLetters(again, in: next, at: 950)
        #expect(log.state.deadLetters.values.map(\.delivery.id).sorted() == ["d1", "d2"])
        #expect(log.state.waiting.values.map(\.delivery.id) == ["d3"])

        #expect(try next.removeDeadLetters(Self.letters(next).compactMap(\.letter)) == 2)
        #expect(try log.state.deadLetters.isEmpty && log.store().outbox.deadLetterCount == 0)
    }

    @Test func manyLettersTakeSeveralRecordsAndComeBackOnce() throws {
        let log = try InstantLog()
        let store = try log.store()
        let ids: [DeliveryID] = (1...250).map { "d\($0)" }
        var stored: [StoredDelivery] = []
        try store.insert((1...250).map { Delivery.sample($0, device: Int64($0)) }) { stored = $0 }
        try Self.addDeadLetters(stored, in: store, at: 500)
        let records = log.records
        var again: [DeliveryID] = []
        #expect(
            try store.requeue(Self.letters(store).compactMap(\.letter), at: 900) { again += $0.map(\.delivery.id) }
                == 250
        )
        #expect(again == ids && log.records == records + 3)
        #expect(log.state.deadLetters.isEmpty && log.state.waiting.count == 250)
    }

    @Test func lettersEndAfterTheirDaysAndWithTheirDevices() throws {
        let log = try InstantLog()
        let store = try log.store()
        var stored: [StoredDelivery] = []
        try store.insert((1...3).map { Delivery.sample($0, device: Int64($0)) }) { stored = $0 }
        let day: Duration = .days(1)
        let now = Timestamp.epoch + day + day
        try Self.addDeadLetters([stored[0]], in: store, at: now - day - .seconds(1))
        try Self.addDeadLetters([stored[1], stored[2]], in: store, at: now - .seconds(1))
        try store.pruneDeadLetters(at: now) { $0.rawValue != 3 }
        #expect(try Self.letters(store).map(\.id) == ["d2"])
        #expect(log.state.deadLetters.values.map(\.delivery.id) == ["d2"])
    }

    @Test func lettersThatTheLogRefusesStay() throws {
        let log = try InstantLog()
        let store = try log.store()
        var stored: [StoredDelivery] = []
        try store.insert([.sample(1)]) { stored = $0 }
        try Self.addDeadLetters(stored, in: store, at: 500)
        let letters = try Self.letters(store).compactMap(\.letter)
        log.refuse(.notOpen)
        #expect(throws: PartitionLogError.notOpen) { try store.requeue(letters, at: 900) { _ in } }
        #expect(throws: PartitionLogError.notOpen) { try store.removeDeadLetters(letters) }
        #expect(store.outbox.deadLetterCount == 1 && store.outbox.count == 0)
    }

    @Test func closedStoreReleasesItsWaiters() async throws {
        // A log that never acknowledges.
        let store = try LoggedStore(PartitionState(), limit: 10) { _ throws(PartitionLogError) in 1 }
        let ended = Task.detached { () -> Bool in
            do {
                try store.insert([.sample(1)]) { _ in }
                return false
            } catch {
                return error as? PartitionLogError == .notOpen
            }
        }
        store.close()
        #expect(await ended.value)
    }
}

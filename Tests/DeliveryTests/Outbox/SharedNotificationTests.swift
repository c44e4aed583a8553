import Core
import GRDB
import Push
import Testing
import TimeTestSupport

@testable import Delivery

/// Notifications that several deliveries share: their form on disk and their lifetime.
struct SharedNotificationTests {
    private let folder: TemporaryFolder
    private let database: DatabasePool
    private let outbox: Outbox

    init() throws {
        folder = try TemporaryFolder()
        database = try DatabasePool(path: folder.path("outbox"))
        outbox = try Outbox(database)
    }

    private static func note(_ text: String) -> Notification {
        Notification(
            mode: .alert,
            signal: Signal(rawValue: "mention"),
            title: text,
            body: String(repeating: "long enough to be worth a row of its own. ", count: 5)
        )
    }

    private func deliveries(_ numbers: Range<Int>, _ notification: Notification) -> [Delivery] {
        numbers.map { number in
            var delivery = Delivery.sample(number, device: Int64(number))
            delivery.notification = notification
            return delivery
        }
    }

    private func insert(_ deliveries: [Delivery]) throws -> [StoredDelivery] {
        var stored: [StoredDelivery] = []
        try outbox.insert(deliveries) { stored = $0 }
        return stored
    }

    private func end(_ stored: some Sequence<StoredDelivery>, in outbox: Outbox? = nil) throws {
        var changes = OutboxChanges()
        changes.removals = stored.map(\.key)
        try (outbox ?? self.outbox).apply(changes)
    }

    private func waiting(in outbox: Outbox) throws -> [Delivery] {
        try outbox.waitingQueues().flatMap { queue in
            try outbox.firstTries(of: queue.number, after: OutboxKey(rawValue: 0), limit: 10_000).deliveries
        }
        .map(\.delivery)
    }

    /// Returns the numbers of shared notifications on disk.
    private func shared(_ database: DatabasePool? = nil) throws -> [Int64] {
        try (database ?? self.database).read {
            try Int64.fetchAll($0, sql: "SELECT number FROM outbox_notification ORDER BY number")
        }
    }

    @Test func anEventForManyDevicesIsOneNotificationOnDisk() throws {
        let crowd = deliveries(0..<100, Self.note("hello"))
        let stored = try insert(crowd)
        #expect(stored.map(\.delivery) == crowd)
        #expect(try shared() == [stored[0].key.sequence])
        let lengths = try database.read {
            try Int.fetchSet($0, sql: "SELECT length(notification) FROM outbox_delivery")
        }
        #expect(lengths == [0])
        #expect(try waiting(in: outbox) == crowd)
        #expect(try OutboxExamination(path: folder.path("outbox")).run().findings == [])
    }

    @Test func shortOrSingleNotificationStaysInItsRow() throws {
        let wake = Notification.wake(.dm, urgency: .high)
        let mixed = deliveries(0..<3, wake) + deliveries(3..<4, Self.note("one"))
        _ = try insert(mixed)
        #expect(try shared() == [])
        #expect(try waiting(in: outbox) == mixed)
    }

    @Test func notificationsInTurnAreStillShared() throws {
        let (german, english) = (Self.note("Hallo"), Self.note("Hello"))
        let mixed = (0..<20).flatMap { deliveries($0..<$0 + 1, $0.isMultiple(of: 2) ? german : english) }
        let stored = try insert(mixed)
        #expect(try shared() == [stored[0].key.sequence, stored[1].key.sequence])
        #expect(try waiting(in: outbox) == mixed)
    }

    @Test func notificationIsRemovedWithItsLastDelivery() throws {
        let first = try insert(deliveries(0..<10, Self.note("first")))
        let second = try insert(deliveries(10..<20, Self.note("second")))
        try end(first[0..<9])
        try end(second[1..<10])
        // A second end of the same deliveries does not count.
        try end(first[0..<9])
        #expect(try shared() == [first[0].key.sequence, second[0].key.sequence])
        #expect(try waiting(in: outbox) == [first[9].delivery, second[0].delivery])
        try end([first[9]])
        #expect(try shared() == [second[0].key.sequence])
        try end([second[0]])
        #expect(try shared() == [])
    }

    @Test func sharedNotificationIsReadAndRemovedAfterARestart() throws {
        let stored = try insert(deliveries(0..<10, Self.note("first")))
        _ = try insert(deliveries(10..<20, Self.note("second")))
        try end(stored[0..<9])
        try folder.snapshot(of: "outbox", as: "crashed")
        let pool = try DatabasePool(path: folder.path("crashed"))
        let reopened = try Outbox(pool)
        #expect(try waiting(in: reopened).count == 11)
        #expect(try waiting(in: reopened).first == stored[9].delivery)
        #expect(try shared(pool).count == 2)
        var rest: [StoredDelivery] = []
        for queue in try reopened.waitingQueues() {
            rest += try reopened.firstTries(of: queue.number, after: OutboxKey(rawValue: 0), limit: 100).deliveries
        }
        try end(rest.dropFirst(), in: reopened)
        #expect(try waiting(in: reopened) == [stored[9].delivery])
        // A start finds the notifications without deliveries.
        let again = try Outbox(pool)
        #expect(try shared(pool) == [stored[0].key.sequence])
        try end([rest[0]], in: again)
        #expect(try shared(pool) == [])
    }

    @Test func retryAndDeadLetterHaveTheFullNotification() throws {
        let note = Self.note("hello")
        let stored = try insert(deliveries(0..<3, note))
        var changes = OutboxChanges()
        changes.reschedulings = [.init(key: stored[0].key, due: 300, attempts: 1)]
        changes.removals = [stored[1].key, stored[2].key]
        changes.newDeadLetters = [
            OutboxChanges.NewDeadLetter(
                key: stored[1].key,
                failure: FailedAttempt(.rejected, status: 400, reason: "BadTopic"),
                failedAt: 7,
                attempts: 1
            )
        ]
        try outbox.apply(changes)
        let place = RetryPlace(due: .distantPast, key: OutboxKey(rawValue: 0))
        let queue = try #require(try outbox.waitingQueues().first).number
        #expect(
            try outbox.retries(of: queue, from: place, limit: 10).deliveries.map(\.delivery) == [stored[0].delivery]
        )
        let entries = try OutboxReader(path: folder.path("outbox")).entries(QueueSelection(), limit: 10)
        #expect(entries.map(\.mode) == [.alert, .alert])
        #expect(entries.map(\.size) == [ByteCount(note.blob.count), ByteCount(note.blob.count)])
        try end([stored[0]])
        #expect(try shared() == [])
        let letter = try #require(entries.first?.letter)
        var requeued: [Delivery] = []
        _ = try outbox.requeue([letter], at: 9) { requeued = $0.map(\.delivery) }
        #expect(requeued.map(\.notification) == [note])
        #expect(requeued.map(\.id) == [stored[1].delivery.id])
    }

    @Test func aNotificationThatIsMissingIsReportedWithItsDelivery() throws {
        let stored = try insert(deliveries(0..<2, Self.note("hello")))
        try database.write { try $0.execute(sql: "DELETE FROM outbox_notification") }
        let page = try outbox.firstTries(of: stored[0].key.queue, after: OutboxKey(rawValue: 0), limit: 10)
        #expect(page.deliveries.isEmpty)
        #expect(page.unreadable.map(\.key) == stored.map(\.key))
        #expect(try OutboxExamination(path: folder.path("outbox")).run().findings.count == 1)
    }

    @Test func droppedDeliveryRemovesItsNotification() throws {
        _ = try insert(deliveries(0..<2, Self.note("hello")))
        try database.close()
        #expect(try Outbox.dropWaiting(at: folder.path("outbox")) == 2)
        #expect(try shared(DatabasePool(path: folder.path("outbox"))) == [])
    }

    @Test func aNotificationStaysWhileOneOfTheDevicesOfAnotherPlatformWaits() throws {
        let note = Self.note("hello")
        let mixed = deliveries(0..<30, note).map { delivery in
            var delivery = delivery
            if delivery.number.isMultiple(of: 3) { delivery.platform = "android" }
            return delivery
        }
        let stored = try insert(mixed)
        #expect(Set(stored.map(\.key.queue)).count == 2)
        let (android, ios) = (
            stored.filter { $0.delivery.platform == "android" }, stored.filter { $0.delivery.platform == "ios" }
        )
        try end(ios)
        #expect(try shared().count == 1)
        try end(android.dropFirst())
        #expect(try waiting(in: outbox) == [mixed[0]])
        try end(android)
        #expect(try shared() == [])
        #expect(outbox.count == 0)
    }

    @Test func removalAcrossInsertionsEndsEach() throws {
        let first = try insert(deliveries(0..<10, Self.note("first")))
        let between = try insert((10..<15).map { Delivery.sample($0) })
        let second = try insert(deliveries(15..<25, Self.note("second")))
        // One delivery each of the first and the second notification stays.
        try end((first + between + second).dropFirst().dropLast().reversed())
        #expect(try shared() == [first[0].key.sequence, second[0].key.sequence])
        #expect(try waiting(in: outbox) == [first[0].delivery, second[9].delivery])
        try end([first[0]])
        #expect(try shared() == [second[0].key.sequence])
        try end([second[9]])
        #expect(try shared() == [])
    }

    @Test func partlyRemovedRangeCountsExistingRows() throws {
        let stored = try insert(deliveries(0..<10, Self.note("hello")))
        try end([stored[3], stored[6]])
        try end(stored[0..<9])
        #expect(outbox.count == 1)
        #expect(try shared().count == 1)
        try end(stored)
        #expect(outbox.count == 0)
        #expect(try shared() == [])
    }

    private func keys(_ sequences: Range<Int64>, queue: Int = 3) -> [OutboxKey] {
        sequences.map { OutboxKey(queue: queue, sequence: $0) }
    }

    /// Returns the ends that `use` records when all of `keys` are removed.
    private func ends(of keys: [OutboxKey], in use: SharedNotificationUse) -> SharedNotificationUse.Ends {
        var removed = RemovedDeliveries()
        for range in use.ranges(of: keys) {
            removed.add(Int(range.last.sequence - range.first.sequence) + 1, of: range)
        }
        return removed.ends
    }

    @Test func failedWriteRemovesNoDelivery() {
        var use = SharedNotificationUse()
        use.add(5...9, count: 5)
        use.add(20...29, count: 10)
        let keys = keys(5..<10)
        #expect(use.unneeded(after: ends(of: keys, in: use)) == [5...9])
        // The ends were not applied, so the result is the same again; a part of them ends no notification.
        #expect(use.unneeded(after: ends(of: keys.dropLast(), in: use)) == [])
        #expect(use.unneeded(after: ends(of: keys, in: use)) == [5...9])
        use.apply(ends(of: keys, in: use))
        #expect(ends(of: keys, in: use).isEmpty)
        let others = self.keys(15..<40, queue: 1)
        #expect(use.unneeded(after: ends(of: others, in: use)) == [20...29])
        use.apply(ends(of: others, in: use))
        #expect(use.isEmpty)
    }

    @Test func aRangeIsOfOneQueueAndOneInsertion() {
        var use = SharedNotificationUse()
        use.add(5...9, count: 5)
        use.add(10...14, count: 5)
        use.add(20...29, count: 10)
        func ranges(_ keys: [OutboxKey]) -> [[Int64]] {
            use.ranges(of: keys).map { [$0.first.sequence, $0.last.sequence, Int64($0.group ?? -1)] }
        }
        #expect(ranges([]) == [])
        #expect(
            ranges(keys(1..<40)) == [[1, 4, -1], [5, 9, 0], [10, 14, 1], [15, 19, -1], [20, 29, 2], [30, 39, -1]]
        )
        #expect(ranges(keys(6..<8) + keys(9..<10)) == [[6, 7, 0], [9, 9, 0]])
        #expect(ranges(keys(21..<24, queue: 2) + keys(21..<24)) == [[21, 23, 2], [21, 23, 2]])
        #expect(ranges(keys(21..<24).reversed() + keys(22..<26)) == [[21, 25, 2]])
    }

    @Test func aRangeEndsWhereItsQueueEnds() {
        let last = OutboxKey(queue: 1, sequence: OutboxKey.largestSequence)
        let next = OutboxKey(queue: 2, sequence: 0)
        #expect(next.rawValue == last.rawValue + 1)
        #expect(SharedNotificationUse().ranges(of: [last, next]).map(\.last) == [last, next])
    }
}

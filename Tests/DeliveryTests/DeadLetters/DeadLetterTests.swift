import Core
import GRDB
import Push
import Testing
import TimeTestSupport

@testable import Delivery

/// The deliveries that become dead letters, and how the store keeps them.
struct DeadLetterTests {
    private let now: Timestamp = 1_700_000_000_000
    private let rejected = Outcome(.rejected, status: 400, reason: "BadTopic")
    private let unavailable = Outcome(.retry, status: 503, reason: "unavailable")
    private let misconfigured = Outcome(.misconfigured, status: 403, reason: "InvalidProviderToken")

    private func insert(_ deliveries: [Delivery], into outbox: Outbox) throws -> [StoredDelivery] {
        var stored: [StoredDelivery] = []
        try outbox.insert(deliveries) { stored = $0 }
        return stored
    }

    private func addDeadLetters(_ stored: [StoredDelivery], in outbox: Outbox, at time: Timestamp? = nil) throws {
        var changes = OutboxChanges()
        changes.removals = stored.map(\.key)
        changes.newDeadLetters = stored.map { stored in
            OutboxChanges.NewDeadLetter(
                key: stored.key,
                failure: FailedAttempt(.rejected, status: 400, reason: "BadTopic"),
                failedAt: time ?? now,
                attempts: 1
            )
        }
        try outbox.apply(changes)
    }

    private func failed(_ path: String, _ change: (inout QueueSelection) -> Void = { _ in }) throws -> [QueueEntry] {
        var selection = QueueSelection()
        selection.isWaitingWanted = false
        change(&selection)
        return try OutboxReader(path: path).entries(selection, limit: 1_000)
    }

    @Test func onlyFinalFailuresAreDeadLettered() {
        var driver = QueuesDriver()
        let ends: [(Outcome, isKept: Bool)] = [
            (rejected, true), (Outcome(.rejected, reason: "plugin-crashed"), true),
            (Outcome(.gone, status: 410, reason: "Unregistered"), false),
            (Outcome(.delivered, status: 200, reason: "ok"), false),
        ]
        for (number, end) in ends.enumerated() {
            driver.accept(.sample(number, device: Int64(number)))
            let newDeadLetters = driver.changes.newDeadLetters.count
            driver.end(number, end.0)
            #expect(driver.changes.newDeadLetters.count == newDeadLetters + (end.isKept ? 1 : 0))
        }
        #expect(driver.changes.newDeadLetters.map(\.failure.reason) == ["BadTopic", "plugin-crashed"])
        #expect(driver.changes.newDeadLetters.map(\.attempts) == [1, 1])
        #expect(driver.changes.removals.count == 4)
        #expect(driver.changes.forgotten == [DeviceID(rawValue: 2)])
    }

    @Test func deliveryRetriedForItsLifetimeIsKeptWithItsLastFailure() {
        for (outcome, kind) in [(unavailable, FailedAttempt.Kind.retry), (misconfigured, .misconfigured)] {
            var driver = QueuesDriver(policy: RetryPolicy(lifetime: .minutes(1)))
            driver.accept(.sample(1))
            driver.end(1, outcome)
            driver.advance(by: .seconds(61))
            #expect(driver.reports.last?.kind == .expired)
            #expect(driver.changes.newDeadLetters.map(\.failure.kind) == [kind])
            #expect(driver.changes.newDeadLetters.map(\.failure.reason) == [outcome.reason])
        }
    }

    @Test func expiredDeliveryIsNotKept() {
        var driver = QueuesDriver()
        driver.accept(.sample(1, expiresAt: driver.now + .minutes(1)))
        driver.end(1, unavailable)
        driver.advance(by: .minutes(2))
        #expect(driver.reports.last?.kind == .expired)
        #expect(driver.changes.newDeadLetters.isEmpty)
    }

    @Test func deadLetterIsWrittenAtomically() throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        let stored = try insert([.sample(1), .sample(2, device: 2)], into: outbox)
        try folder.snapshot(of: "outbox", as: "before")
        try addDeadLetters([stored[0]], in: outbox)
        try folder.snapshot(of: "outbox", as: "after")
        let before = try Outbox(path: folder.path("before"))
        #expect(before.count == 2 && before.deadLetterCount == 0)
        let after = try Outbox(path: folder.path("after"))
        #expect(after.count == 1 && after.deadLetterCount == 1)
        let entry = try #require(try failed(folder.path("after")).first)
        #expect(entry.id == stored[0].delivery.id && entry.device == stored[0].delivery.device)
        #expect(entry.queue == QueueName(platform: "ios", app: "default"))
        #expect(entry.failure == FailedAttempt(.rejected, status: 400, reason: "BadTopic"))
        #expect(entry.failedAt == now && entry.attempts == 1 && entry.mode == .wake)
        #expect(entry.size == ByteCount(stored[0].delivery.notification.blob.count))
    }

    @Test func requeueKeepsTheIDAndIsAtomic() throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        let stored = try insert([.sample(1)], into: outbox)
        try addDeadLetters(stored, in: outbox)
        let letters = try failed(folder.path("outbox")).compactMap(\.letter)
        try folder.snapshot(of: "outbox", as: "before")
        var requeued: [StoredDelivery] = []
        #expect(try outbox.requeue(letters, at: now + .hours(30)) { requeued += $0 } == 1)
        try folder.snapshot(of: "outbox", as: "after")
        // A second operator's request at the same time finds no dead letters.
        #expect(try outbox.requeue(letters, at: now) { requeued += $0 } == 0)
        let delivery = try #require(requeued.first?.delivery)
        #expect(requeued.count == 1 && delivery.id == stored[0].delivery.id)
        #expect(delivery.notification == stored[0].delivery.notification)
        // Its lifetime starts again.
        #expect(delivery.acceptedAt == now + .hours(30) && requeued[0].attempts == 0 && requeued[0].due == nil)
        for (name, waiting) in [("before", 0), ("after", 1)] {
            let copy = try Outbox(path: folder.path(name))
            #expect(copy.count == waiting && copy.deadLetterCount == 1 - waiting)
        }
    }

    @Test func deadLettersAreLimitedToTheNewest() throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"), deadLetters: DeadLetterLimits(days: 1, rows: 3))
        let stored = try insert((0..<5).map { .sample($0, device: Int64($0)) }, into: outbox)
        for stored in stored { try addDeadLetters([stored], in: outbox) }
        #expect(outbox.deadLetterCount == 3 && outbox.count == 0)
        #expect(try failed(folder.path("outbox")).map(\.device.rawValue) == [2, 3, 4])
    }

    @Test(arguments: [DeadLetterLimits(days: 0), DeadLetterLimits(rows: 0)])
    func zeroLimitsDisableDeadLetters(limits: DeadLetterLimits) throws {
        let outbox = try Outbox(DatabaseQueue(), deadLetters: limits)
        try addDeadLetters(try insert([.sample(1)], into: outbox), in: outbox)
        #expect(outbox.deadLetterCount == 0 && outbox.count == 0)
    }

    @Test func deadLettersExpireAndEndWithTheirDevice() throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        let stored = try insert((0..<4).map { .sample($0, device: Int64($0)) }, into: outbox)
        try addDeadLetters([stored[0]], in: outbox, at: now - .days(1) - .milliseconds(1))
        try addDeadLetters(Array(stored[1...]), in: outbox)
        try outbox.pruneDeadLetters(at: now) { $0.rawValue != 1 }
        #expect(try failed(folder.path("outbox")).map(\.device.rawValue) == [2, 3])
        // Its push service reported it as gone, or a delivery found it unregistered.
        var changes = OutboxChanges()
        changes.forgotten = [DeviceID(rawValue: 2)]
        try outbox.apply(changes)
        #expect(try failed(folder.path("outbox")).map(\.device.rawValue) == [3])
        // If dead letters are disabled, existing ones are removed too.
        let without = try Outbox(path: folder.path("outbox"), deadLetters: DeadLetterLimits(days: 0))
        try without.pruneDeadLetters(at: now) { _ in true }
        #expect(without.deadLetterCount == 0)
    }

    @Test func deadLettersAreFilteredAndPaged() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("outbox")
        let outbox = try Outbox(path: path)
        let stored = try insert(
            (0..<6).map { .sample($0, device: Int64($0 % 2), platform: $0 < 3 ? "ios" : "web") },
            into: outbox
        )
        try addDeadLetters(Array(stored[0..<4]), in: outbox)
        var changes = OutboxChanges()
        let failure = FailedAttempt(.misconfigured, status: 403, reason: "InvalidProviderToken")
        changes.reschedulings = [.init(key: stored[5].key, due: now + .minutes(1), attempts: 2, failure: failure)]
        try outbox.apply(changes)
        let reader = OutboxReader(path: path)
        let all = try reader.entries(QueueSelection(), limit: 10)
        #expect(all.map(\.id) == stored.map(\.delivery.id))
        #expect(all.map { $0.failedAt != nil } == [true, true, true, true, false, false])
        #expect(all[5].failure == failure && all[5].due == now + .minutes(1) && all[4].failure == nil)
        var paged: [QueueEntry] = []
        var cursor = QueueCursor.start
        while let last = try reader.entries(QueueSelection(), from: cursor, limit: 2).last {
            paged += try reader.entries(QueueSelection(), from: cursor, limit: 2)
            cursor = try #require(QueueCursor("\(QueueCursor(after: last))"))
        }
        #expect(paged == all)
        func numbers(_ change: (inout QueueSelection) -> Void) throws -> [Int] {
            var selection = QueueSelection()
            change(&selection)
            return try reader.entries(selection, limit: 10).compactMap { Int($0.id.description.suffix(12)) }
        }
        #expect(try numbers { $0.platform = "web" } == [3, 4, 5])
        #expect(try numbers { $0.device = DeviceID(rawValue: 1) } == [1, 3, 5])
        #expect(try numbers { $0.reason = "misconfigured" } == [5])
        #expect(try numbers { $0.reason = "BadTopic" } == [0, 1, 2, 3])
        #expect(try numbers { $0.ids = [stored[4].delivery.id.description, "none"] } == [4])
        #expect(try numbers { $0.since = now + .milliseconds(1) } == [])
        #expect(try numbers { $0.isFailedWanted = false } == [4, 5])
        #expect(try reader.entries(QueueSelection(), limit: 10) { $0.rawValue == 0 }.count == 3)
        #expect(try OutboxExamination(path: path).run().findings == [])
    }
}

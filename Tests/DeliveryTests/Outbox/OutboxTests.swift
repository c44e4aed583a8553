import Core
import Foundation
import GRDB
import Push
import Storage
import Testing
import TimeTestSupport

@testable import Delivery

struct OutboxTests {
    private func inserted(_ deliveries: [Delivery], into outbox: Outbox) throws -> [StoredDelivery] {
        var stored: [StoredDelivery] = []
        try outbox.insert(deliveries) { stored += $0 }
        return stored
    }

    private func all(_ outbox: Outbox) throws -> [StoredDelivery] {
        try outbox.waitingQueues().flatMap { queue in
            try outbox.firstTries(of: queue.number, after: OutboxKey(rawValue: 0), limit: 10_000).deliveries
                + outbox.retries(
                    of: queue.number,
                    from: RetryPlace(due: .distantPast, key: OutboxKey(rawValue: 0)),
                    limit: 10_000
                ).deliveries
        }
    }

    private func place(_ due: Timestamp) -> RetryPlace { RetryPlace(due: due, key: OutboxKey(rawValue: 0)) }

    @Test func deliveriesRoundTripInOrder() throws {
        let outbox = try Outbox(DatabaseQueue())
        let deliveries = (0..<5).map { Delivery.sample($0, device: Int64($0 % 2)) }
        let stored = try inserted(deliveries, into: outbox)
        #expect(stored.map(\.delivery) == deliveries)
        #expect(stored.map(\.key) == stored.map(\.key).sorted())
        #expect(try all(outbox).map(\.delivery) == deliveries)
        #expect(outbox.count == 5)
    }

    @Test func pagesGoThroughOneQueueOnly() throws {
        let outbox = try Outbox(DatabaseQueue())
        let deliveries = (0..<10).map { Delivery.sample($0, platform: $0 % 2 == 0 ? "ios" : "android") }
        let stored = try inserted(deliveries, into: outbox)
        let ios = try #require(try outbox.waitingQueues().first { $0.name.platform == "ios" })
        #expect(ios.last == stored[8].key)
        let first = try outbox.firstTries(of: ios.number, after: OutboxKey(rawValue: 0), limit: 3)
        #expect(first.deliveries.map(\.delivery) == [0, 2, 4].map { deliveries[$0] })
        #expect(!first.isLast)
        let after = try #require(first.deliveries.last?.key)
        let second = try outbox.firstTries(of: ios.number, after: after, limit: 3)
        #expect(second.deliveries.map(\.delivery) == [6, 8].map { deliveries[$0] })
        #expect(second.isLast)
    }

    @Test func deliveriesOfOneInsertionAreNumberedQueueByQueue() throws {
        let outbox = try Outbox(DatabaseQueue())
        let platforms = ["ios", "android", "ios", "android", "web", "ios"]
        let first = try inserted(platforms.enumerated().map { .sample($0, platform: $1) }, into: outbox)
        let second = try inserted([.sample(9, platform: "web"), .sample(10, platform: "ios")], into: outbox)
        for platform in Set(platforms) {
            let sequences = first.filter { $0.delivery.platform == platform }.map(\.key.sequence)
            #expect(sequences == Array(sequences[0]..<sequences[0] + Int64(sequences.count)))
        }
        let all = (first + second).map(\.key.sequence)
        #expect(Set(all).count == 8)
        #expect(try #require(first.map(\.key.sequence).max()) < (try #require(second.map(\.key.sequence).min())))
    }

    @Test func onlyEndedDeliveriesAreRemovedBetweenOthers() throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        let stored = try inserted(
            (0..<300).map { .sample($0, platform: $0 % 3 == 0 ? "android" : "ios") },
            into: outbox
        )
        // Seven of each ten end, out of order, some of them twice.
        let ended = stored.filter { $0.delivery.number % 10 < 7 }
        var changes = OutboxChanges()
        changes.removals = ended.reversed().map(\.key) + ended.prefix(20).map(\.key)
        try outbox.apply(changes)
        let left = Set(stored.filter { $0.delivery.number % 10 >= 7 }.map(\.key))
        #expect(Set(try all(outbox).map(\.key)) == left)
        #expect(outbox.count == left.count)
        try folder.snapshot(of: "outbox", as: "crashed")
        let reopened = try Outbox(path: folder.path("crashed"))
        #expect(Set(try all(reopened).map(\.key)) == left)
        #expect(reopened.count == left.count)
        withExtendedLifetime(outbox) {}
    }

    @Test func retriesComeByDueTimeAndFirstTriesWithoutThem() throws {
        let outbox = try Outbox(DatabaseQueue())
        let stored = try inserted((0..<4).map { Delivery.sample($0) }, into: outbox)
        var changes = OutboxChanges()
        changes.reschedulings = [
            .init(key: stored[0].key, due: 300, attempts: 1), .init(key: stored[2].key, due: 100, attempts: 7),
            .init(key: stored[3].key, due: 300, attempts: 2),
        ]
        try outbox.apply(changes)
        let queue = stored[0].key
        let number = try #require(try outbox.waitingQueues().first).number
        let retries = try outbox.retries(of: number, from: place(.distantPast), limit: 10)
        #expect(retries.deliveries.map(\.key) == [stored[2].key, stored[0].key, stored[3].key])
        #expect(retries.deliveries.map(\.due) == [100, 300, 300])
        #expect(retries.deliveries.map(\.attempts) == [7, 1, 2])
        let behind = RetryPlace(due: 300, key: OutboxKey(rawValue: queue.rawValue + 1))
        #expect(try outbox.retries(of: number, from: behind, limit: 10).deliveries.map(\.key) == [stored[3].key])
        let firstTries = try outbox.firstTries(of: number, after: OutboxKey(rawValue: 0), limit: 10)
        #expect(firstTries.deliveries.map(\.key) == [stored[1].key])
    }

    @Test func removedDeliveriesAreDeletedAndCountedOnce() throws {
        let outbox = try Outbox(DatabaseQueue(), limit: 3)
        let stored = try inserted((0..<3).map { Delivery.sample($0) }, into: outbox)
        #expect(outbox.isFull)
        var changes = OutboxChanges()
        changes.reschedulings = [.init(key: stored[0].key, due: 1, attempts: 1)]
        changes.removals = [stored[0].key, stored[1].key, stored[1].key]
        try outbox.apply(changes)
        #expect(outbox.count == 1)
        #expect(!outbox.isFull)
        #expect(try all(outbox).map(\.key) == [stored[2].key])
    }

    @Test func keysContinueAfterReopening() throws {
        let folder = try TemporaryFolder()
        let first = try inserted([.sample(1), .sample(2)], into: Outbox(path: folder.path("outbox")))
        let outbox = try Outbox(path: folder.path("outbox"))
        #expect(outbox.count == 2)
        let second = try inserted([.sample(3)], into: outbox)
        #expect(try #require(first.last).key < second[0].key)
        #expect(try all(outbox).map(\.delivery) == [.sample(1), .sample(2), .sample(3)])
    }

    @Test func insertedDeliveriesSurviveACrash() throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        let stored = try inserted((0..<1000).map { Delivery.sample($0) }, into: outbox)
        var changes = OutboxChanges()
        changes.removals = stored.prefix(600).map(\.key)
        changes.reschedulings = [.init(key: stored[999].key, due: 5, attempts: 1)]
        try outbox.apply(changes)
        try folder.snapshot(of: "outbox", as: "crashed")
        let reopened = try Outbox(path: folder.path("crashed"))
        #expect(reopened.count == 400)
        #expect(try all(reopened).map(\.delivery) == stored.suffix(400).map(\.delivery))
        #expect(try all(reopened).last?.due == 5)
        withExtendedLifetime(outbox) {}
    }

    @Test func commitsAreFlushedEvenInAPoolThatTurnsItOff() throws {
        let folder = try TemporaryFolder()
        let pool = try DatabasePool(path: folder.path("shared"))
        let before = try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        #expect(before == 1)
        let outbox = try Outbox(pool)
        _ = try inserted([.sample(1)], into: outbox)
        let after = try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        #expect(after == 2)
    }

    @Test func outboxSharesADatabase() throws {
        let database = try DatabaseQueue()
        var others = DatabaseMigrator()
        others.registerMigration("other-1") { try $0.execute(sql: "CREATE TABLE other (a)") }
        try others.migrate(database)
        _ = try inserted([.sample(1)], into: Outbox(database))
        try others.migrate(database)
        #expect(try Outbox(database).count == 1)
        let tables = try database.read { database in
            try String.fetchAll(database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        }
        #expect(
            tables == [
                "grdb_migrations", "other", "outbox_cause", "outbox_dead_letter", "outbox_delivery", "outbox_figure",
                "outbox_held", "outbox_held_member", "outbox_notification", "outbox_pace", "outbox_queue",
                "outbox_request", "outbox_withdrawal", "sqlite_sequence",
            ]
        )
    }

    @Test func fileIsReadableByItsOwnerOnly() throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        _ = try inserted([.sample(1)], into: outbox)
        for name in ["outbox", "outbox-wal"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        withExtendedLifetime(outbox) {}
    }

    @Test func fullDiskThrowsAndStoresNoRows() throws {
        let database = try DatabaseQueue()
        let outbox = try Outbox(database)
        let stored = try inserted([.sample(0)], into: outbox)
        let pages = try database.read { try Int.fetchOne($0, sql: "PRAGMA page_count") ?? 0 }
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(pages + 2)") }
        var handedOver = false
        #expect(throws: StoreError.self) {
            try outbox.insert((1..<2000).map { .sample($0, app: "other") }) { _ in handedOver = true }
        }
        #expect(!handedOver)
        #expect(outbox.count == 1)
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 100000") }
        _ = try inserted([.sample(5, app: "other")], into: outbox)
        #expect(try all(outbox).map(\.delivery) == [stored[0].delivery, .sample(5, app: "other")])
    }

    @Test func rowsThatCannotBeReadAreNamed() throws {
        let database = try DatabaseQueue()
        let outbox = try Outbox(database)
        let stored = try inserted([.sample(1), .sample(2, device: 9)], into: outbox)
        try database.write {
            try $0.execute(
                sql: "UPDATE outbox_delivery SET notification = x'ff00' WHERE number = ?",
                arguments: [stored[1].key.rawValue]
            )
        }
        let number = try #require(try outbox.waitingQueues().first).number
        let page = try outbox.firstTries(of: number, after: OutboxKey(rawValue: 0), limit: 10)
        #expect(page.deliveries.map(\.key) == [stored[0].key])
        #expect(page.unreadable.map(\.key) == [stored[1].key])
        #expect(page.unreadable.first?.device == 9)
        #expect(page.isLast)
    }

    /// No version wrote other ids. Operators still see such a row.
    @Test(arguments: ["no UUID", "", "00000000-0000-4000-8000-00000000000A"])
    func rowsWithoutAUUIDCannotBeRead(_ id: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("outbox")
        let outbox = try Outbox(path: path)
        let stored = try inserted([.sample(1), .sample(2, device: 9)], into: outbox)
        var paces = PaceChanges()
        paces.rows = [PaceRow(device: DeviceID(rawValue: 9), underWay: stored[1].delivery.id)]
        try outbox.insert([], causes: [], pace: paces) { _ in }
        let queue = try DatabaseQueue(path: path)
        try queue.write { database in
            try database.execute(sql: "UPDATE outbox_delivery SET id = ? WHERE device = 9", arguments: [id])
            try database.execute(sql: "UPDATE outbox_pace SET under_way = ?", arguments: [id])
        }
        try queue.close()
        let number = try #require(try outbox.waitingQueues().first).number
        let page = try outbox.firstTries(of: number, after: OutboxKey(rawValue: 0), limit: 10)
        #expect(page.deliveries.map(\.key) == [stored[0].key])
        #expect(page.unreadable.map(\.key) == [stored[1].key])
        #expect(page.unreadable.map(\.id) == [.unknown])
        let reader = OutboxReader(path: path)
        #expect(try reader.entries(QueueSelection(), limit: 9).map(\.id) == [stored[0].delivery.id, .unknown])
        #expect(try reader.contained(of: Set(stored.map(\.delivery.id))) == [stored[0].delivery.id])
        #expect(try reader.paces(of: [DeviceID(rawValue: 9)]).values.map(\.row.underWay) == [nil])
        #expect(try OutboxExamination(path: path).run().findings.count == 1)
        // The same among dead letters.
        var changes = OutboxChanges()
        changes.removals = stored.map(\.key)
        changes.newDeadLetters = stored.map {
            OutboxChanges.NewDeadLetter(
                key: $0.key,
                failure: FailedAttempt(.retry, reason: "x"),
                failedAt: 5,
                attempts: 1
            )
        }
        try outbox.apply(changes)
        let letters = try reader.entries(QueueSelection(), limit: 9)
        #expect(letters.map(\.id) == [stored[0].delivery.id, .unknown])
        #expect(try outbox.deadLetterIDs(letters.compactMap(\.letter)) == [stored[0].delivery.id])
        var kept: [DeliveryID] = []
        try OutboxTransfer(outbox).forEachKeptLetter { kept.append($0.delivery.id) }
        #expect(kept == [stored[0].delivery.id])
        var requeued: [DeliveryID] = []
        _ = try outbox.requeue(letters.compactMap(\.letter), at: 9) { requeued = $0.map(\.delivery.id) }
        #expect(requeued == [stored[0].delivery.id])
    }

    @Test func pagesAreReadWithoutScanningOrSorting() throws {
        let database = try DatabaseQueue()
        _ = try Outbox(database)
        let plans = try database.read { database in
            try [
                "SELECT * FROM outbox_delivery WHERE number > 1 AND number <= 9 AND due IS NULL ORDER BY number LIMIT 5",
                """
                SELECT * FROM outbox_delivery
                WHERE queue = 1 AND due IS NOT NULL AND (due, number) >= (5, 6) ORDER BY due, number LIMIT 5
                """,
            ].map { sql in
                try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql).map { $0["detail"] as String }.joined()
            }
        }
        #expect(plans[0] == "SEARCH outbox_delivery USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)")
        #expect(plans[1].hasPrefix("SEARCH outbox_delivery USING INDEX outbox_delivery_retry (queue=? AND"))
        #expect(!plans[1].contains("TEMP B-TREE"))
    }

    @Test func eventsAreRememberedWithTheirDeliveriesAndForgottenInOrder() throws {
        let database = try DatabaseQueue()
        let outbox = try Outbox(database, causeLimit: 3)
        for number in 0..<5 as Range<UInt8> {
            try outbox.insert([.sample(Int(number))], causes: [[number, 0]]) { _ in }
        }
        func remembered(_ outbox: Outbox) throws -> [[UInt8]] {
            var causes: [[UInt8]] = []
            try outbox.forEachCause { causes.append(Array($0)) }
            return causes
        }
        #expect(try remembered(outbox) == [[2, 0], [3, 0], [4, 0]])
        #expect(try remembered(Outbox(database)) == [[2, 0], [3, 0], [4, 0]])
    }

    @Test func eventsWithoutDeliveriesAreRemembered() throws {
        let database = try DatabaseQueue()
        let outbox = try Outbox(database)
        try outbox.insert([], causes: [[7, 7]]) { _ in Issue.record("there is nothing to hand over") }
        #expect(outbox.count == 0)
        var causes: [[UInt8]] = []
        try Outbox(database).forEachCause { causes.append(Array($0)) }
        #expect(causes == [[7, 7]])
    }

    @Test func everyInsertionIsFlushedOnEveryConnection() throws {
        let database = try DatabaseQueue()
        let outbox = try Outbox(database)
        func level() throws -> Int? {
            try database.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        }
        var changes = OutboxChanges()
        changes.removals = try inserted([.sample(1)], into: outbox).map(\.key)
        try outbox.apply(changes)
        #expect(try level() == 2)
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        _ = try inserted([.sample(2)], into: outbox)
        #expect(try level() == 2)
    }
}

import DeliveryTestSupport
import Foundation
import GRDB
import Notifications
import Testing
import TimeTestSupport
import Units

@testable import Delivery

/// Outboxes as each earlier version left them: see Tests/RegistryTests/make_fixtures.py.
struct EarlierOutboxTests {
    @Test(arguments: 1...6)
    func whatWaitsInAnEarlierOutboxIsDelivered(version: Int) throws {
        let folder = try TemporaryFolder()
        let path = try write(version, in: folder)
        let outbox = try Outbox(path: path)
        #expect(outbox.count == 3)
        let queues = try outbox.waitingQueues()
        #expect(queues.map(\.name.platform) == ["ios", "ntfy"])
        let first = try outbox.firstTries(of: 1, after: OutboxKey(rawValue: 0), limit: 10)
        #expect(first.deliveries.map(\.delivery.id) == ["00000000-0000-8000-8000-000000000005"])
        #expect(first.deliveries.first?.delivery.notification.signal == Signal(rawValue: "dm"))
        let place = RetryPlace(due: .distantPast, key: OutboxKey(rawValue: 0))
        let retries = try outbox.retries(of: 1, from: place, limit: 10)
        #expect(retries.deliveries.map(\.attempts) == [2])
        var causes = 0
        try outbox.forEachCause { _ in causes += 1 }
        #expect(causes == (version >= 2 ? 2 : 0))
        // Later ones go behind what waits.
        var keys: [OutboxKey] = []
        try outbox.insert([.sample(1)]) { keys = $0.map(\.key) }
        #expect(keys.first?.sequence == 8)
        #expect(try OutboxExamination(path: path).run().findings == [])
    }

    @Test(arguments: 3...6)
    func whatWasHeldInAnEarlierOutboxIsHeldStill(version: Int) throws {
        let folder = try TemporaryFolder()
        let path = try write(version, in: folder)
        let device = DeviceID(rawValue: 1)
        let reader = OutboxReader(path: path)
        #expect(try reader.paces(of: [device])[device]?.held.map(\.count) == [1])
        #expect(try reader.paces(of: [DeviceID(rawValue: 7)]).values.map(\.held.count) == [1])
        #expect(try reader.devices(holding: Array(repeating: 6, count: 32)) == [DeviceID(rawValue: 7)])
        let outbox = try Outbox(path: path)
        var paces: [PaceRow] = []
        var held: [HeldRow] = []
        var members: [HeldMember] = []
        try outbox.loadPaces(at: time) {
            paces.append($0)
        } member: {
            members.append($0)
        } held: {
            held.append($0)
        }
        #expect(paces.map(\.underWay) == ["00000000-0000-8000-8000-000000000005"])
        #expect(paces.map(\.pushes) == [3])
        #expect(held.map(\.count) == [1, 5])
        #expect(held.map(\.key) == [HeldKey(device: device, slot: 0), HeldKey(device: DeviceID(rawValue: 7), slot: 1)])
        // Their mode is that of wake-ups.
        #expect(held.map(\.nature) == [.silent, .silent])
        #expect(held.allSatisfy { $0.mark == nil })
        // Of several it is not known whether all of them expire.
        #expect(held.map(\.expiresAt) == [time + .minutes(1), 0])
        let notification = Notification.wake(.dm, urgency: .normal)
        #expect(held.map(\.members) == [[0], []])
        #expect(members.map(\.key) == [HeldMemberKey(device: device, number: 0)])
        #expect(members.map(\.held) == [HeldNotification(notification)] && members.map(\.event) == [held[0].event])
    }

    @Test func whatFailedInAnEarlierOutboxIsShownAndSentAgain() throws {
        let folder = try TemporaryFolder()
        let path = try write(6, in: folder)
        func entries() throws -> [QueueEntry] { try OutboxReader(path: path).entries(QueueSelection(), limit: 10) }
        // As a command sees it before the router has started with the new version, and after.
        let before = try entries()
        #expect(
            before.map(\.id) == [
                "00000000-0000-8000-8000-000000000002", "00000000-0000-8000-8000-000000000005",
                "00000000-0000-8000-8000-000000000006", "00000000-0000-8000-8000-000000000007",
            ]
        )
        #expect(before.map(\.failure?.reason) == ["BadTopic", nil, "unavailable", nil])
        #expect(before.allSatisfy { $0.mode == .wake })
        let outbox = try Outbox(path: path)
        #expect(try entries() == before)
        var revived: [Delivery] = []
        _ = try outbox.revive([DeadLetterNumber(rawValue: 3)], at: time) { revived = $0.map(\.delivery) }
        #expect(revived.map(\.id) == ["00000000-0000-8000-8000-000000000002"])
        #expect(revived.map(\.notification) == [.wake(.dm, urgency: .normal)])
    }

    private let time: Timestamp = 1_773_446_400_000

    /// Where an outbox is that was left by that version.
    private func write(_ version: Int, in folder: TemporaryFolder) throws -> String {
        let source = try #require(
            Bundle.module.url(forResource: "outbox-\(version)", withExtension: "sql", subdirectory: "Fixtures")
        )
        let path = folder.path("outbox")
        let queue = try DatabaseQueue(path: path)
        let sql = try String(contentsOf: source, encoding: .utf8)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
        return path
    }
}

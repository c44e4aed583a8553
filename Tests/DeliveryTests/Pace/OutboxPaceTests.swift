import Core
import DeliveryTestSupport
import Foundation
import GRDB
import Push
import Testing
import TimeTestSupport

@testable import Delivery

struct OutboxPaceTests {
    private let now: Timestamp = 1_773_489_600_000
    private let today: Int32 = 20_526

    private func row(_ device: Int64, underWay: DeliveryID? = nil, pushes: Int32 = 1) -> PaceRow {
        PaceRow(
            device: DeviceID(rawValue: device),
            pushedAt: now - .seconds(5),
            windowStart: now - .seconds(7),
            matches: 2,
            dayOfPushes: today,
            pushes: pushes,
            underWay: underWay,
            releasedAt: now - .seconds(1)
        )
    }

    private func held(_ device: Int64, slot: UInt8 = 0, _ members: UInt8..., count: UInt32 = 1) -> HeldRow {
        HeldRow(
            key: HeldKey(device: DeviceID(rawValue: device), slot: slot),
            members: members,
            account: Array(repeating: 1, count: 32),
            event: Array(repeating: UInt8(truncatingIfNeeded: device), count: 32),
            isMessage: slot == 1,
            hasOverflowed: slot == 2,
            signal: .reply,
            mode: .alert,
            urgency: .high,
            count: count,
            since: now - .milliseconds(900),
            expiresAt: now + .milliseconds(900)
        )
    }

    private func member(_ device: Int64, _ number: UInt8, _ held: HeldNotification) -> HeldMember {
        HeldMember(
            key: HeldMemberKey(device: DeviceID(rawValue: device), number: number),
            event: Array(repeating: number, count: 32),
            mode: .sealed,
            expiresAt: now + .milliseconds(700),
            madeAt: -3,
            held
        )
    }

    private typealias Loaded = (paces: [PaceRow], members: [HeldMember], held: [HeldRow])

    private func load(_ outbox: Outbox, at now: Timestamp? = nil) throws -> Loaded {
        var loaded: Loaded = ([], [], [])
        try outbox.loadPaces(at: now ?? self.now) {
            loaded.paces.append($0)
        } member: {
            loaded.members.append($0)
        } held: {
            loaded.held.append($0)
        }
        return loaded
    }

    private func put(_ outbox: Outbox, _ deliveries: [Delivery] = [], _ change: (inout PaceChanges) -> Void) throws {
        var changes = PaceChanges()
        change(&changes)
        try outbox.insert(deliveries, causes: [], pace: changes) { _ in }
    }

    @Test func rowsRoundTrip() throws {
        let outbox = try Outbox(DatabaseQueue())
        var notification = Notification(mode: .alert, signal: .reply, title: "hello")
        notification.origin = EventOrigin(event: SIMD4(1, 2, 3, 4), author: SIMD4(repeating: .max), createdAt: -1)
        let alone = member(1, 0, HeldNotification(notification, sealedTo: 7))
        notification.origin?.address = .min
        let last = member(1, .max, HeldNotification(notification))
        try put(outbox) { changes in
            changes.rows = [row(1), row(2)]
            changes.held = [held(1, 0), held(1, slot: 2, .max, 9, count: 9)]
            changes.members = [alone, last]
        }
        let loaded = try load(outbox)
        #expect(loaded.paces == [row(1), row(2)])
        #expect(loaded.held == [held(1, 0), held(1, slot: 2, .max, 9, count: 9)])
        #expect(loaded.members == [alone, last])
        // Equal notifications may be about different events.
        #expect(loaded.members.map(\.held.notification.origin) == [alone, last].map(\.held.notification.origin))
        #expect(try outbox.heldNotification(alone.key) == HeldNotification(notification, sealedTo: 7))
        #expect(try outbox.heldNotification(HeldMemberKey(device: DeviceID(rawValue: 1), number: 9)) == nil)
        #expect(try outbox.heldNotification(HeldMemberKey(device: DeviceID(rawValue: 2), number: 0)) == nil)
    }

    @Test func pushKindsAndSilentPushesAreRestored() throws {
        let outbox = try Outbox(DatabaseQueue())
        var paced = row(-5)
        paced.silentPushes = [now - .seconds(3), now - .seconds(2), .distantFuture]
        let groups = PushNature.allCases.enumerated().map { index, nature in
            var group = held(-5, slot: UInt8(29 + index), UInt8(index), count: 2)
            group.account = Array(repeating: 1, count: 32)
            group.event = Array(repeating: 2, count: 32)
            (group.nature, group.mark, group.madeAt) = (nature, index == 0 ? nil : .min + Int64(index), Int64(index))
            return group
        }
        let notification = Notification(mode: .alert, signal: .reply, title: "latest")
        try put(outbox) { changes in
            changes.rows = [paced]
            changes.held = groups
            changes.members = [member(-5, 1, HeldNotification(notification))]
        }
        let loaded = try load(outbox)
        #expect(loaded.paces == [paced] && loaded.held == groups)
        try put(outbox) { $0.forgotten = [DeviceID(rawValue: -5)] }
        #expect(try load(outbox).held == [] && load(outbox).members == [])
    }

    @Test func aHeldEventStaysUntilItIsReplacedOrRemoved() throws {
        let outbox = try Outbox(DatabaseQueue())
        let first = HeldNotification(.wake(.dm, urgency: .high))
        let later = HeldNotification(.wake(.zap, urgency: .low))
        try put(outbox) { $0.members = [member(1, 3, first), member(1, 4, first)] }
        let keys = [member(1, 3, first).key, member(1, 4, first).key]
        // In one transaction, additions take precedence.
        try put(outbox) { ($0.removed, $0.members) = (keys, [member(1, 4, later)]) }
        #expect(try keys.map(outbox.heldNotification) == [nil, later])
        try put(outbox) { $0.held = [held(1, 4)] }
        try put(outbox) { $0.released = [held(1).key] }
        #expect(try load(outbox).held == [])
    }

    @Test func forgottenDeviceLosesAllItsGroupsAndNoOthers() throws {
        let outbox = try Outbox(DatabaseQueue())
        try put(outbox) { changes in
            changes.rows = [row(1), row(2), row(3)]
            changes.held = [1, 2, 3].flatMap { device in
                (0...3).map { held(device, slot: $0, count: 2) }
            }
        }
        try put(outbox) { $0.forgotten = [DeviceID(rawValue: 2)] }
        let loaded = try load(outbox)
        #expect(loaded.paces.map(\.device.rawValue) == [1, 3])
        #expect(loaded.held.map(\.key.device.rawValue) == [1, 1, 1, 1, 3, 3, 3, 3])
    }

    @Test func deliveriesAndPacesAreKeptTogetherOrNotAtAll() throws {
        let queue = try DatabaseQueue()
        let outbox = try Outbox(queue)
        try queue.write { database in
            try database.execute(
                sql: "CREATE TRIGGER refuse BEFORE INSERT ON outbox_pace BEGIN SELECT RAISE(ABORT, 'full'); END"
            )
        }
        #expect(throws: (any Error).self) { try put(outbox, [.sample(1)]) { $0.rows = [row(1)] } }
        #expect(outbox.count == 0)
        #expect(try outbox.waitingQueues().isEmpty)
        try queue.write { try $0.execute(sql: "DROP TRIGGER refuse") }
        try put(outbox, [.sample(1)]) { $0.rows = [row(1)] }
        #expect(outbox.count == 1)
        #expect(try load(outbox).paces.count == 1)
    }

    @Test(arguments: DeliveryReport.Kind.allCases)
    func deliveryEndsWhenItLeavesAllQueues(kind: DeliveryReport.Kind) {
        func ends(_ device: Int64) -> [CompletedPush] {
            let report = DeliveryReport(
                delivery: "d",
                device: DeviceID(rawValue: device),
                queue: QueueName(platform: "ios", app: "default"),
                kind: kind,
                reason: "",
                attempt: 1
            )
            return CompletedPush.all(of: [report], at: 7)
        }
        let isEnd = ![.retry, .misconfigured, .reduced, .moved, .postponed, .requeued].contains(kind)
        #expect(ends(1).map(\.counts) == (isEnd ? [[.delivered, .rejected].contains(kind)] : []))
        // The sealed ingress has no throttling.
        #expect(ends(-1).isEmpty)
    }

    @Test func endsAreStoredWithTheRemovals() throws {
        let outbox = try Outbox(DatabaseQueue())
        try put(outbox) { changes in
            changes.rows = [row(1, underWay: "a"), row(2, underWay: "b", pushes: 3), row(3, underWay: "c")]
        }
        var changes = OutboxChanges()
        changes.ends = [("a", 1, true), ("b", 2, false), ("other", 3, true)].map { delivery, device, isDelivered in
            CompletedPush(device: DeviceID(rawValue: device), delivery: delivery, counts: isDelivered, moment: now)
        }
        try outbox.apply(changes)
        let paces = try load(outbox).paces
        #expect(paces.map(\.underWay) == [nil, nil, nil])
        #expect(paces.map(\.pushedAt) == [now, now - .seconds(5), now - .seconds(1)])
        #expect(paces.map(\.pushes) == [1, 2, 1])
    }

    @Test func nonBlockingDeliveriesAreStoredAsFailedUpToALimit() throws {
        let database = try DatabaseQueue()
        let outbox = try Outbox(database)
        let (first, last, delivered) = (row(1, underWay: "a", pushes: 3), row(2, underWay: "b"), row(3, underWay: "c"))
        try put(outbox) { changes in
            changes.rows = zip([first, last, delivered], [1, PaceRow.maxUnblocked, 2]).map { row, unblocked in
                var row = row
                row.unblocked = unblocked
                return row
            }
        }
        var changes = OutboxChanges()
        changes.ends = [first, last, delivered].map { row in
            CompletedPush(
                device: row.device,
                delivery: row.underWay ?? "",
                counts: row.underWay == "c",
                stopsBlocking: row.underWay != "c",
                moment: now
            )
        }
        try outbox.apply(changes)
        var paces: [PaceRow] = []
        // Without the changes of a start.
        try database.read { try PaceStatements.readPaces($0) { paces.append($0) } }
        #expect(paces.map(\.underWay) == [nil, "b", nil])
        #expect(paces.map(\.unblocked) == [2, PaceRow.maxUnblocked, 0])
        #expect(paces.map(\.pushes) == [2, 1, 1])
        #expect(paces.map(\.pushedAt) == [now - .seconds(5), now - .seconds(5), now])
    }

    @Test func yesterdaysFailureIsNotRefundedToday() throws {
        let outbox = try Outbox(DatabaseQueue())
        var late = row(1, underWay: "a")
        late.releasedAt = now - .days(1)
        try put(outbox) { $0.rows = [late] }
        var changes = OutboxChanges()
        changes.ends = [CompletedPush(device: late.device, delivery: "a", counts: false, moment: now)]
        try outbox.apply(changes)
        #expect(try load(outbox).paces.map(\.pushes) == [1])
    }

    @Test func deliveryStaysInFlightWhileTheOutboxHasIt() throws {
        let outbox = try Outbox(DatabaseQueue())
        let delivery = Delivery.sample(1)
        try put(outbox, [delivery]) { $0.rows = [row(1, underWay: delivery.id), row(2, underWay: "gone")] }
        let paces = try load(outbox).paces
        #expect(paces.map(\.underWay) == [delivery.id, nil])
        #expect(paces.map(\.pushedAt) == [now - .seconds(5), now - .seconds(1)])
    }

    @Test func meaninglessRowsAreDropped() throws {
        let outbox = try Outbox(DatabaseQueue())
        try put(outbox, [.sample(3, device: 3)]) { changes in
            changes.rows = [row(1), row(2), row(3, underWay: Delivery.sample(3).id)]
            changes.held = [held(2, count: 2)]
        }
        #expect(try load(outbox, at: now + .days(1) - .seconds(5)).paces.count == 3)
        #expect(try load(outbox, at: now + .days(2)).paces.map(\.device.rawValue) == [2, 3])
    }

    @Test func readersSeeThePaceOfChosenDevices() throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        try put(outbox) { changes in
            changes.rows = [row(1), row(2)]
            changes.held = [held(2, count: 5), held(3, count: 2)]
        }
        let devices = [1, 2, 3, 4].map { DeviceID(rawValue: $0) }
        let paces = try OutboxReader(path: folder.path("outbox")).paces(of: devices)
        #expect(paces.keys.map(\.rawValue).sorted() == [1, 2, 3])
        #expect(paces[devices[0]]?.row == row(1))
        #expect(paces[devices[1]]?.held.map(\.count) == [5])
        #expect(paces[devices[2]]?.row == PaceRow(device: devices[2]))
    }
}

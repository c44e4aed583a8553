import Core
import GRDB
import Logging
import Push
import Testing
import TimeTestSupport

@testable import Delivery

/// Authors' deleted events are no longer retried, and their other events are.
struct CourierDeletionTests {
    private let time = ManualTime()
    private let observer = RecordingObserver()
    private let author = SIMD4<UInt64>(9, 8, 7, 6)

    private func courier(_ store: any DeliveryStore, _ transport: FakeTransport) throws -> Courier {
        let environment = CourierEnvironment(
            store: store,
            directory: FakeDirectory(),
            observer: observer,
            now: { [time] in time.now },
            alarm: time,
            random: LargestGenerator(),
            transport: { _ in transport }
        )
        return try Courier(environment, log: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    /// Event `number` for a separate device.
    private func delivery(_ number: UInt64, address: Int64? = nil) -> Delivery {
        var delivery = Delivery.sample(Int(number), device: Int64(number))
        delivery.notification.origin = EventOrigin(
            event: SIMD4(number, 0, 0, 0),
            author: author,
            createdAt: Int64(number),
            address: address
        )
        return delivery
    }

    private func changes(_ withdrawals: Withdrawal...) -> PaceChanges {
        var changes = PaceChanges()
        changes.withdrawn = withdrawals
        return changes
    }

    /// All fail at first; their authors delete some while they wait, or while the router is down.
    @Test(arguments: [false, true]) func deliveryWaitingForARetryIsDeleted(isRestarted: Bool) async throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        let transport = FakeTransport()
        var courier = try courier(outbox, transport)
        courier.start()
        try courier.accept([delivery(1), delivery(2), delivery(3, address: 5), delivery(4, address: 5), delivery(5)])
        for attempt in await transport.attempts(5) {
            attempt.complete(Outcome(.retry, status: 503, reason: "down", scope: .device))
        }
        await observer.record { $0.reports.count == 5 }
        await courier.settle()
        let other = SIMD4<UInt64>(repeating: 1)
        try courier.accept(
            [],
            pace: changes(
                Withdrawal(author: author, .event(SIMD4(2, 0, 0, 0))),
                Withdrawal(author: author, .address(5), until: 3),
                Withdrawal(author: author, .everything, until: 1),
                // Another author's, and one that concerns only later events.
                Withdrawal(author: other, .event(SIMD4(4, 0, 0, 0))),
                Withdrawal(author: other, .everything, until: 100),
                Withdrawal(author: author, .olderVersions(5), until: 100)
            )
        )
        if isRestarted {
            await courier.shutdown(deadline: .distantFuture)
            courier = try self.courier(outbox, transport)
            courier.start()
        }
        time.advance(by: .seconds(1))
        let again = await transport.attempts(7)
        #expect(Set(again.dropFirst(5).map(\.delivery.number)) == [4, 5])
        for attempt in again.dropFirst(5) { attempt.complete(Outcome(.delivered, status: 200, reason: "ok")) }
        let record = await observer.record { $0.ended(.delivered).count == 2 && $0.ended(.deleted).count == 3 }
        #expect(Set(record.ended(.deleted).map(\.device.rawValue)) == [1, 2, 3])
        await courier.shutdown(deadline: .distantFuture)
        #expect(outbox.count == 0 && transport.attempts.count == 7)
    }

    @Test func anAttemptUnderWayIsTheLast() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport()
        let courier = try courier(outbox, transport)
        courier.start()
        try courier.accept([delivery(1)])
        let attempt = await transport.attempts(1)[0]
        try courier.accept([], pace: changes(Withdrawal(author: author, .event(SIMD4(1, 0, 0, 0)))))
        // A push that is sent in a stricter form concerns the same event.
        attempt.complete(Outcome(.retry, status: 429, reason: "slow down"))
        await observer.record { $0.reports.count == 1 }
        await courier.settle()
        time.advance(by: .minutes(1))
        await observer.record { $0.ended(.deleted).count == 1 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(outbox.count == 0 && transport.attempts.count == 1)
    }

    @Test func deletionsAndAuthorsOfStoredDeliveriesAreRestored() throws {
        let outbox = try Outbox(DatabaseQueue())
        let scopes: [Withdrawal.Scope] = [.event(author), .address(.min), .everything, .olderVersions(4)]
        let withdrawals = scopes.map { Withdrawal(author: author, $0, until: -4) }
        var held = PaceChanges()
        held.withdrawn = withdrawals
        var other = delivery(7)
        other.notification.origin?.author = SIMD4(repeating: .max)
        held.members = [
            HeldMember(
                key: HeldMemberKey(rawValue: 1),
                event: Array(repeating: 1, count: 32),
                mode: .wake,
                expiresAt: 0,
                madeAt: 0,
                HeldNotification(other.notification)
            )
        ]
        try outbox.insert([delivery(1), delivery(2), .sample(3)], causes: [], pace: held) { _ in }
        #expect(try outbox.withdrawals() == withdrawals)
        var authors: [SIMD4<UInt64>] = []
        try outbox.forEachAuthor { authors.append($0) }
        #expect(authors == [author, SIMD4(repeating: .max)])
    }
}

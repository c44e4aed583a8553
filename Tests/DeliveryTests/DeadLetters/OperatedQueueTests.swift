import Core
import GRDB
import Logging
import Push
import Testing
import TimeTestSupport

@testable import Delivery

/// Operators drop deliveries, and retry them immediately.
struct OperatedQueueTests {
    private let unavailable = Outcome(.retry, status: 503, reason: "unavailable")

    private func entry(_ stored: StoredDelivery, due: Timestamp? = nil) -> QueueEntry {
        QueueEntry(
            place: .waiting(stored.key),
            id: stored.delivery.id,
            device: stored.delivery.device,
            queue: stored.delivery.queue,
            acceptedAt: stored.delivery.acceptedAt,
            attempts: stored.attempts,
            due: due,
            size: ByteCount(0)
        )
    }

    private func drop(
        _ stored: [StoredDelivery],
        _ driver: inout QueuesDriver
    ) -> (drop: QueueDrop, absent: [QueueEntry]) {
        var actions = CourierActions()
        let result = driver.queues.drop(stored.map { entry($0) }, into: &actions)
        driver.handle(.wake)
        #expect(actions.reports.map(\.kind).allSatisfy { $0 == .discarded })
        #expect(actions.changes.removals.count == result.drop.dropped)
        return result
    }

    @Test func deliveriesInFlightStayAndQueuedOnesAreDropped() {
        var driver = QueuesDriver()
        let stored = driver.accept(.sample(1), .sample(2), .sample(3), .sample(4, device: 2))
        let result = drop(Array(stored[0...1]), &driver)
        #expect(result.drop == QueueDrop(dropped: 1, underWay: 1) && result.absent.isEmpty)
        driver.end(1, Outcome(.delivered, status: 200, reason: "ok"))
        #expect(driver.numbersUnderWay == [4, 3])
        // A delivery that has ended is absent.
        #expect(drop([stored[0]], &driver).absent.map(\.id) == [stored[0].delivery.id])
    }

    @Test func deliveryBehindADroppedOneGetsItsTurn() {
        var driver = QueuesDriver()
        let stored = driver.accept(.sample(1), .sample(2))
        driver.end(1, unavailable)
        #expect(driver.numbersUnderWay.isEmpty)
        #expect(drop([stored[0]], &driver).drop.dropped == 1)
        #expect(driver.numbersUnderWay == [2])
        driver.end(2, unavailable)
        #expect(drop([stored[1]], &driver).drop.dropped == 1)
        driver.accept(.sample(3))
        #expect(driver.numbersUnderWay == [3])
        #expect(driver.queues.status(now: driver.now).map(\.inMemory) == [1])
        #expect(driver.queues.status(now: driver.now).map(\.waitingForRetry) == [0])
    }

    @Test func nonBlockingDeliveryCanBeDroppedAndExpedited() {
        var driver = QueuesDriver(limits: CourierLimits(stopBlockingAfter: 1))
        let stored = driver.accept(.sample(1), .sample(2, device: 2))
        driver.end(1, unavailable)
        driver.end(2, unavailable)
        #expect(drop([stored[0]], &driver).drop.dropped == 1)
        var actions = CourierActions()
        #expect(
            driver.queues.expedite([entry(stored[1], due: driver.now + .seconds(1))], now: driver.now, into: &actions)
                == 1
        )
        #expect(actions.reports.map(\.kind) == [.requeued])
        #expect(actions.changes.reschedulings.map(\.due) == [driver.now])
        driver.handle(.wake)
        #expect(driver.numbersUnderWay == [2])
    }

    @Test func expeditedDeliveryAndUnpausedQueueAreSentImmediately() {
        var driver = QueuesDriver()
        let stored = driver.accept(.sample(1))
        driver.end(1, Outcome(.misconfigured, status: 403, reason: "InvalidProviderToken"))
        var actions = CourierActions()
        let later = entry(stored[0], due: driver.now + .seconds(1))
        #expect(driver.queues.expedite([later], now: driver.now, into: &actions) == 1)
        driver.handle(.wake)
        #expect(driver.numbersUnderWay.isEmpty)
        let name = stored[0].delivery.queue
        #expect(driver.queues.unpause([QueueName(platform: "web", app: "default")], now: driver.now) == [])
        #expect(driver.queues.unpause([name], now: driver.now) == [name])
        driver.handle(.wake)
        #expect(driver.numbersUnderWay == [1])
    }

    /// Memory holds up to four, so that most are only on disk.
    @Test func deliveriesOnlyOnDiskAreDroppedAndExpedited() async throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        let time = ManualTime()
        let observer = RecordingObserver()
        let transport = FakeTransport { _ in Outcome(.retry, status: 503, reason: "unavailable") }
        let courier = try Courier(
            CourierEnvironment(
                store: outbox,
                directory: FakeDirectory(),
                observer: observer,
                now: { time.now },
                alarm: time,
                random: LargestGenerator(),
                transport: { _ in transport }
            ),
            limits: CourierLimits(inFlight: 2, window: 16),
            policy: RetryPolicy(base: .hours(1), cap: .hours(2)),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try courier.accept((0..<60).map { .sample($0, device: Int64($0), acceptedAt: time.now) })
        courier.start()
        await observer.record { $0.ended(.retry).count == 60 }
        await courier.settle()
        await courier.settle()
        let reader = OutboxReader(path: folder.path("outbox"))
        let all = try reader.entries(QueueSelection(), limit: 100)
        #expect(all.count == 60 && all.allSatisfy { $0.failure?.reason == "unavailable" })
        let dropped = await courier.drop(all.filter { $0.device.rawValue < 30 })
        #expect(dropped == QueueDrop(dropped: 30, underWay: 0))
        #expect(outbox.count == 30)
        #expect(observer.record.ended(.discarded).count == 30)
        #expect(courier.status.map(\.waiting) == [30])
        // Again: no deliveries are left to drop.
        #expect(await courier.drop(all.filter { $0.device.rawValue < 30 }) == QueueDrop(dropped: 0, underWay: 0))
        _ = await courier.expedite(all.filter { $0.device.rawValue >= 30 })
        await observer.record { $0.ended(.retry).count == 90 }
        #expect(Set(transport.attempts[60...].map(\.delivery.device.rawValue)) == Set(30..<60))
        #expect(transport.attempts.count == 90)
        #expect(Set(observer.record.ended(.requeued).map(\.delivery)).count == 30)
    }

    @Test func aRetriedDeadLetterIsSentOnceUnderItsId() async throws {
        let folder = try TemporaryFolder()
        let outbox = try Outbox(path: folder.path("outbox"))
        let time = ManualTime()
        let observer = RecordingObserver()
        let transport = FakeTransport()
        let courier = try Courier(
            CourierEnvironment(
                store: outbox,
                directory: FakeDirectory(),
                observer: observer,
                now: { time.now },
                alarm: time,
                transport: { _ in transport }
            ),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        courier.start()
        try courier.accept([.sample(1, acceptedAt: time.now)])
        await transport.attempts(1)[0].complete(Outcome(.rejected, status: 400, reason: "BadTopic"))
        await observer.record { $0.ended(.rejected).count == 1 }
        await courier.settle()
        let letters = try OutboxReader(path: folder.path("outbox")).entries(QueueSelection(), limit: 10)
        #expect(letters.map(\.attempts) == [1])
        // Longer than its lifetime, which starts again.
        time.advance(by: .hours(30))
        #expect(try courier.requeue(letters) == 1)
        #expect(try courier.requeue(letters) == 0)
        await transport.attempts(2)[1].complete(Outcome(.delivered, status: 200, reason: "ok"))
        await observer.record { $0.ended(.delivered).count == 1 }
        await courier.settle()
        #expect(observer.record.reports.map(\.kind) == [.rejected, .requeued, .delivered])
        #expect(Set(transport.attempts.map(\.delivery.id)).count == 1 && transport.attempts.count == 2)
        #expect(outbox.count == 0 && outbox.deadLetterCount == 0)
    }
}

import Core
import GRDB
import Logging
import Push
import Synchronization
import Testing
import TimeTestSupport

@testable import Delivery

struct CourierTests {
    private let time = ManualTime()
    private let directory = FakeDirectory()
    private let observer = RecordingObserver()
    private let log = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    private let delivered = Outcome(.delivered, status: 200, reason: "ok")

    private func courier(
        _ store: any DeliveryStore,
        _ transport: FakeTransport?,
        limits: CourierLimits = CourierLimits(),
        serves isServed: @escaping @Sendable (QueueName) -> Bool = { _ in true }
    ) throws -> Courier {
        let environment = CourierEnvironment(
            store: store,
            directory: directory,
            observer: observer,
            now: { [time] in time.now },
            alarm: time,
            random: LargestGenerator(),
            transport: { isServed($0) ? transport : nil }
        )
        return try Courier(environment, limits: limits, log: log)
    }

    @Test func acceptedDeliveriesReachTheirDevicesAndLeaveTheDisk() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport { [delivered] _ in delivered }
        let courier = try courier(outbox, transport)
        courier.start()
        for group in 0..<20 {
            try courier.accept((0..<100).map { .sample(group * 100 + $0, device: Int64($0)) })
        }
        let record = await observer.record { $0.reports.count == 2000 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(record.reports.allSatisfy { $0.kind == .delivered && $0.attempt == 1 })
        #expect(Set(record.reports.map(\.delivery)).count == 2000)
        #expect(transport.attempts.allSatisfy { $0.address.token == "token-\($0.delivery.device.rawValue)" })
        #expect(outbox.count == 0)
    }

    @Test func dueDeliveriesAreSentTogetherIfTheTransportBatches() async throws {
        let transport = FakeTransport { [delivered] _ in delivered }
        let courier = try courier(Outbox(DatabaseQueue()), transport)
        try courier.accept((0..<40).map { .sample($0, device: Int64($0 % 20)) })
        courier.start()
        let record = await observer.record { $0.reports.count == 40 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(record.reports.allSatisfy { $0.kind == .delivered && $0.attempt == 1 })
        // One of each device, because a device's deliveries are sent in order.
        #expect(transport.batches.reduce(0, +) == 40 && transport.batches.max() == 20, "\(transport.batches)")
        #expect(Set(transport.attempts.prefix(20).map(\.delivery.device)).count == 20)
    }

    @Test func manyThreadsAcceptAndAnswer() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport()
        let courier = try courier(outbox, transport, limits: CourierLimits(inFlight: 50, window: 200))
        courier.start()
        await withTaskGroup(of: Void.self) { [delivered] group in
            for part in 0..<4 {
                group.addTask {
                    for number in 0..<50 {
                        let first = (part * 50 + number) * 10
                        try? courier.accept((first..<first + 10).map { .sample($0, device: Int64($0)) })
                    }
                }
            }
            group.addTask {
                for count in 1...2000 {
                    let attempt = await transport.attempts(count)[count - 1]
                    attempt.complete(delivered)
                }
            }
        }
        let record = await observer.record { $0.reports.count == 2000 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(Set(record.reports.map(\.delivery)).count == 2000)
        #expect(outbox.count == 0)
    }

    @Test func aFailedAttemptIsMadeAgainWhenItsTimeComes() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport()
        let courier = try courier(outbox, transport)
        courier.start()
        try courier.accept([.sample(1)])
        await transport.attempts(1)[0].complete(Outcome(.retry, status: 503, reason: "down"))
        let report = await observer.record { $0.reports.count == 1 }.reports[0]
        #expect(report.nextDue == time.now + .seconds(1))
        await courier.settle()
        time.advance(by: .seconds(1))
        let attempts = await transport.attempts(2)
        #expect(attempts[1].delivery == attempts[0].delivery)
        attempts[1].complete(delivered)
        await observer.record { $0.ended(.delivered).count == 1 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(outbox.count == 0)
    }

    @Test func aClockThatIsSetBackHoldsUpNeitherARetryNorTheEnd() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport()
        let courier = try courier(outbox, transport)
        courier.start()
        try courier.accept([.sample(1)])
        await transport.attempts(1)[0].complete(Outcome(.retry, status: 503, reason: "down"))
        await observer.record { $0.reports.count == 1 }
        await courier.settle()
        time.setBack(by: .hours(1))
        await courier.settle()
        time.advance(by: .seconds(1))
        _ = await transport.attempts(2)

        // The second attempt gets no response.
        let deadline = time.now + .seconds(5)
        async let end: Void = courier.shutdown(deadline: deadline)
        while !time.hasAlarm(at: deadline) { await Task.yield() }
        time.setBack(by: .hours(1))
        await end
        #expect(outbox.count == 1)
    }

    @Test func deliveriesContinueAfterAKill() async throws {
        let folder = try TemporaryFolder()
        let first = FakeTransport { $0.number < 100 ? Outcome(.retry, status: 503, reason: "down") : nil }
        let outbox = try Outbox(path: folder.path("outbox"))
        let killed = try courier(outbox, first, limits: CourierLimits(inFlight: 200, window: 1000))
        killed.start()
        try killed.accept((0..<3000).map { .sample($0, device: Int64($0)) })
        await observer.record { $0.reports.count == 100 }
        _ = await first.attempts(300)
        await killed.settle()
        try folder.snapshot(of: "outbox", as: "survived")

        let survived = try Outbox(path: folder.path("survived"))
        #expect(survived.count == 3000)
        let second = FakeTransport { [delivered] _ in delivered }
        let courier = try courier(survived, second)
        courier.start()
        await observer.record { $0.ended(.delivered).count >= 2900 }
        await courier.settle()
        time.advance(by: .seconds(1))
        let record = await observer.record { $0.ended(.delivered).count == 3000 }
        #expect(Set(record.ended(.delivered).map(\.delivery)).count == 3000)
        #expect(record.ended(.delivered).filter { $0.attempt == 2 }.count == 100)
        await courier.shutdown(deadline: .distantFuture)
        #expect(survived.count == 0)
        withExtendedLifetime(killed) {}
    }

    @Test func theEndOfAPushIsOnDiskWithItsRemoval() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport { delivery in
            delivery.number == 1
                ? Outcome(.delivered, status: 200, reason: "ok") : Outcome(.rejected, status: 400, reason: "bad")
        }
        let courier = try courier(outbox, transport)
        var deliveries: [Delivery] = [.sample(1, device: 1), .sample(2, device: 2), .sample(3, device: 3)]
        deliveries[2].notification.expiresAt = 1
        var pace = PaceChanges()
        pace.rows = deliveries.map { delivery in
            PaceRow(
                device: delivery.device,
                dayOfPushes: Int32(time.now.milliseconds / 86_400_000),
                pushes: 1,
                underWay: delivery.id,
                releasedAt: time.now
            )
        }
        try courier.accept(deliveries, pace: pace)
        courier.start()
        await observer.record { $0.reports.count == 3 }
        await courier.shutdown(deadline: .distantFuture)
        var rows: [PaceRow] = []
        try outbox.loadPaces(at: time.now) {
            rows.append($0)
        } member: { _ in
        } held: { _ in
        }
        // Pushes that a push service received and rejected count; a delivery that expired before it was sent does not.
        #expect(rows.map(\.underWay) == [nil, nil, nil])
        #expect(rows.map(\.pushedAt) == [time.now, time.now, 0])
        #expect(rows.map(\.pushes) == [1, 1, 0])
    }

    @Test func deliveryThatCannotBeStoredIsNotAccepted() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let store = FailingStore(outbox)
        let transport = FakeTransport { [delivered] _ in delivered }
        let courier = try courier(store, transport)
        courier.start()
        store.fail { $0.insertions = true }
        #expect(throws: DiskFailure.self) { try courier.accept([.sample(1)]) }
        store.fail { $0.insertions = false }
        try courier.accept([.sample(2)])
        await observer.record { $0.reports.count == 1 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(transport.attempts.map(\.delivery.number) == [2])
    }

    @Test func anOutcomeThatCannotBeStoredIsStoredLater() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let store = FailingStore(outbox, FailingStore.Failures(changes: 2))
        let transport = FakeTransport { [delivered] _ in delivered }
        let courier = try courier(store, transport)
        courier.start()
        try courier.accept([.sample(1)])
        await observer.record { $0.reports.count == 1 && $0.failures == 1 }
        #expect(outbox.count == 1)
        await courier.writer.mailbox.settle()
        time.advance(by: .milliseconds(100))
        await observer.record { $0.failures == 2 }
        await courier.writer.mailbox.settle()
        time.advance(by: .milliseconds(200))
        await courier.shutdown(deadline: .distantFuture)
        #expect(outbox.count == 0)
        #expect(transport.attempts.count == 1)
    }

    @Test func deliveriesWaitWhileOutcomesCannotBeStored() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let store = FailingStore(outbox, FailingStore.Failures(changes: 1))
        let transport = FakeTransport { [delivered] _ in delivered }
        let courier = try courier(store, transport)
        courier.start()
        try courier.accept([.sample(1)])
        await observer.record { $0.failures == 1 }
        await courier.settle()
        await courier.writer.mailbox.settle()
        await courier.mailbox.settle()
        try courier.accept((2...9).map { .sample($0, device: Int64($0)) })
        await courier.settle()
        #expect(transport.attempts.count == 1)
        time.advance(by: .milliseconds(100))
        await observer.record { $0.ended(.delivered).count == 9 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(transport.attempts.count == 9)
        #expect(outbox.count == 0)
    }

    @Test func aPageThatCannotBeReadIsReadLater() async throws {
        let outbox = try Outbox(DatabaseQueue())
        try outbox.insert((0..<10).map { .sample($0, device: Int64($0)) }) { _ in }
        let store = FailingStore(outbox, FailingStore.Failures(pages: 1))
        let transport = FakeTransport { [delivered] _ in delivered }
        let courier = try courier(store, transport)
        courier.start()
        await observer.record { $0.failures == 1 }
        await courier.writer.mailbox.settle()
        time.advance(by: .milliseconds(100))
        await observer.record { $0.reports.count == 10 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(outbox.count == 0)
    }

    @Test func unreadableRowsAreReportedAndRemoved() async throws {
        let database = try DatabaseQueue()
        let outbox = try Outbox(database)
        try outbox.insert([.sample(1), .sample(2, device: 7), .sample(3, device: 8)]) { _ in }
        try await database.write {
            try $0.execute(sql: "UPDATE outbox_delivery SET notification = x'09' WHERE device = 7")
            try $0.execute(sql: "UPDATE outbox_delivery SET id = 'no UUID' WHERE device = 8")
        }
        let courier = try courier(outbox, FakeTransport { [delivered] _ in delivered })
        courier.start()
        let record = await observer.record { $0.reports.count == 3 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(record.ended(.unreadable).map(\.device.rawValue) == [7, 8])
        #expect(record.ended(.unreadable).map(\.delivery) == [Delivery.sample(2).id, .unknown])
        #expect(record.ended(.delivered).map(\.device.rawValue) == [1])
        #expect(outbox.count == 0)
    }

    @Test func goneReachesTheDirectoryWithTheRegistrationThatWasTried() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport()
        let courier = try courier(outbox, transport)
        courier.start()
        try courier.accept([.sample(1, device: 1), .sample(2, device: 1), .sample(3, device: 2), .sample(4, device: 2)])
        let attempts = await transport.attempts(2)
        directory.register(DeviceID(rawValue: 2), at: 50)
        for attempt in attempts { attempt.complete(Outcome(.gone, status: 410, reason: "unregistered")) }
        await observer.record { $0.reports.count == 3 }
        await courier.settle()
        time.advance(by: .seconds(1))
        for number in [3, 4] {
            let attempt = await transport.attempts(number)[number - 1]
            #expect(attempt.delivery.number == number)
            #expect(attempt.address.registeredAt == 50)
            attempt.complete(delivered)
        }
        let record = await observer.record { $0.ended(.delivered).count == 2 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(record.ended(.gone).map(\.device.rawValue) == [1])
        #expect(record.ended(.retry).map(\.reason) == ["registered-anew"])
        #expect(record.ended(.unregistered).map(\.device.rawValue) == [1])
        #expect(directory.removed == [DeviceID(rawValue: 1)])
        #expect(outbox.count == 0)
    }

    /// The response of a proxy while the push service behind it restarts.
    @Test(arguments: [false, true])
    func notFoundRemovesAProvenDeviceOnlyAfterAnHour(worksInBetween: Bool) async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport()
        let courier = try courier(outbox, transport)
        courier.start()
        let notFound = Outcome(.gone, status: 404, reason: "not-found")
        try courier.accept([.sample(1)])
        await transport.attempts(1)[0].complete(notFound)
        await observer.record { $0.ended(.retry).count == 1 }
        await courier.settle()
        #expect(directory.removed == [])
        time.advance(by: .minutes(59))
        await transport.attempts(2)[1].complete(worksInBetween ? delivered : notFound)
        await observer.record { $0.reports.count == 2 }
        await courier.settle()
        if worksInBetween { try courier.accept([.sample(2)]) }
        time.advance(by: .minutes(16))
        await transport.attempts(3)[2].complete(notFound)
        let record = await observer.record { $0.reports.count == 3 }
        await courier.settle()
        await courier.shutdown(deadline: .distantFuture)
        #expect(record.ended(.gone).count == (worksInBetween ? 0 : 1))
        #expect(directory.removed == (worksInBetween ? [] : [DeviceID(rawValue: 1)]))
    }

    @Test func notFoundIsFinalForADeviceThatNeverWorked() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport()
        directory.register(DeviceID(rawValue: 1), at: 50, isProven: false)
        let courier = try courier(outbox, transport)
        courier.start()
        try courier.accept([.sample(1)])
        await transport.attempts(1)[0].complete(Outcome(.gone, status: 404, reason: "not-found"))
        await observer.record { $0.ended(.gone).count == 1 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(directory.removed == [DeviceID(rawValue: 1)])
    }

    @Test func goneIsReportedAgainIfTheDirectoryCannotBeWritten() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport()
        let courier = try courier(outbox, transport)
        courier.start()
        try courier.accept([.sample(1)])
        let attempt = await transport.attempts(1)[0]
        directory.fail(true)
        attempt.complete(Outcome(.gone, status: 410, reason: "unregistered"))
        let report = await observer.record { $0.reports.count == 1 }.reports[0]
        #expect(report.kind == .retry && report.reason == "directory-unavailable")
        directory.fail(false)
        await courier.settle()
        time.advance(by: .seconds(1))
        await transport.attempts(2)[1].complete(Outcome(.gone, status: 410, reason: "unregistered"))
        await observer.record { $0.ended(.gone).count == 1 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(directory.removed == [DeviceID(rawValue: 1)])
        #expect(outbox.count == 0)
    }

    @Test func deviceThatChangesItsPlatformKeepsItsQueue() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport { [delivered] _ in delivered }
        let courier = try courier(outbox, transport)
        courier.start()
        // The directory knows the device on ios.
        try courier.accept([.sample(1, platform: "unifiedpush"), .sample(2, app: "other")])
        let record = await observer.record { $0.reports.count == 4 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(record.ended(.moved).map(\.queue.platform).sorted() == ["ios", "unifiedpush"])
        #expect(transport.attempts.map(\.delivery.platform) == ["ios", "ios"])
        #expect(transport.attempts.map(\.delivery.app) == ["default", "default"])
        #expect(Set(transport.attempts.map(\.delivery.number)) == [1, 2])
        #expect(outbox.count == 0)
    }

    @Test func deliveryOwnedElsewhereOrGoneWaitsForNoTransport() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport { [delivered] _ in delivered }
        let courier = try courier(outbox, transport, serves: { $0.platform == "ios" })
        courier.start()
        try directory.removeGone(DeviceID(rawValue: 7), registeredAt: .distantFuture)
        try courier.accept([.sample(1, platform: "unifiedpush"), .sample(2, device: 7, platform: "unifiedpush")])
        let record = await observer.record { $0.reports.count == 3 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(record.ended(.moved).map(\.queue.platform) == ["unifiedpush"])
        #expect(record.ended(.delivered).map(\.queue.platform) == ["ios"])
        #expect(record.ended(.unregistered).map(\.device.rawValue) == [7])
        #expect(record.pauses.isEmpty)
        #expect(outbox.count == 0)
    }

    @Test func deliveriesWithoutATransportWaitForOne() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let courier = try courier(outbox, nil)
        courier.start()
        try courier.accept([.sample(1)])
        let record = await observer.record { $0.pauses.count == 1 }
        #expect(record.pauses[0].reason == "no-transport")
        courier.resume()
        await observer.record { $0.pauses.count == 2 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(outbox.count == 1)
    }

    @Test func shutdownWaitsForOutcomesAndKeepsTheRest() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport()
        let courier = try courier(outbox, transport, limits: CourierLimits(inFlight: 2))
        courier.start()
        try courier.accept((1...5).map { .sample($0, device: Int64($0)) })
        let attempts = await transport.attempts(2)
        async let shutdown: Void = courier.shutdown(deadline: .distantFuture)
        while !courier.state.withLock({ $0.queues.isDraining }) { await courier.settle() }
        for attempt in attempts { attempt.complete(delivered) }
        await shutdown
        #expect(outbox.count == 3)
        #expect(transport.attempts.count == 2)
        try courier.accept([.sample(6, device: 6)])
        #expect(outbox.count == 4)
    }

    @Test func statusDescribesEveryQueue() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport()
        let courier = try courier(outbox, transport, limits: CourierLimits(inFlight: 3))
        courier.start()
        try courier.accept((1...5).map { .sample($0, device: Int64($0)) })
        let attempts = await transport.attempts(3)
        attempts[0].complete(Outcome(.retry, status: 503, reason: "down"))
        _ = await transport.attempts(4)
        attempts[1].complete(Outcome(.misconfigured, status: 403, reason: "token"))
        await observer.record { $0.pauses.count == 1 }
        await courier.settle()
        let queue = QueueName(platform: "ios", app: "default")
        let pause = QueuePause(queue: queue, until: time.now + .minutes(1), reason: "token")
        var status = QueueStatus(queue: queue, inFlight: 2, inMemory: 5, waitingForRetry: 2, pause: pause)
        (status.waiting, status.share) = (5, 250_000)
        #expect(courier.status == [status])
    }

    @Test func shutdownEndsAtItsDeadline() async throws {
        let outbox = try Outbox(DatabaseQueue())
        let transport = FakeTransport()
        let courier = try courier(outbox, transport)
        courier.start()
        try courier.accept([.sample(1)])
        _ = await transport.attempts(1)
        time.advance(by: .seconds(5))
        await courier.shutdown(deadline: time.now)
        #expect(outbox.count == 1)
    }

    @Test func sourcesAreNotifiedOfAFullOutbox() async throws {
        let outbox = try Outbox(DatabaseQueue(), limit: 3)
        let courier = try courier(outbox, FakeTransport { [delivered] _ in delivered })
        try courier.accept([.sample(1), .sample(2), .sample(3)])
        #expect(courier.isFull)
        courier.start()
        await observer.record { $0.reports.count == 3 }
        await courier.shutdown(deadline: .distantFuture)
        #expect(!courier.isFull)
    }
}

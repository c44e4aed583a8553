import Core
import Push
import Testing
import TimeTestSupport

@testable import Delivery

struct CourierQueuesTests {
    private let delivered = Outcome(.delivered, status: 200, reason: "ok")
    private let unavailable = Outcome(.retry, status: 503, reason: "unavailable")

    @Test func aDevicesDeliveriesGoOneAtATimeAndInOrder() {
        var driver = QueuesDriver()
        driver.accept(.sample(1), .sample(2), .sample(3, device: 2))
        #expect(driver.numbersUnderWay == [1, 3])
        driver.end(1, delivered)
        #expect(driver.numbersUnderWay == [3, 2])
        driver.accept(.sample(4))
        driver.end(2, delivered)
        #expect(driver.numbersUnderWay == [3, 4])
    }

    @Test func failedDeliveryIsRetriedBeforeLaterOnes() {
        var driver = QueuesDriver()
        driver.accept(.sample(1), .sample(2))
        driver.end(1, unavailable)
        #expect(driver.numbersUnderWay.isEmpty)
        #expect(driver.wakeAt == driver.now + .seconds(1))
        driver.accept(.sample(3))
        driver.advance(by: .milliseconds(999))
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: .milliseconds(1))
        #expect(driver.numbersUnderWay == [1])
        driver.end(1, delivered)
        driver.end(2, delivered)
        driver.end(3, delivered)
        #expect(driver.reports.map(\.kind) == [.retry, .delivered, .delivered, .delivered])
        #expect(driver.reports.map(\.attempt) == [1, 2, 1, 1])
    }

    @Test func repeatedlyFailingDeliveryStopsBlocking() {
        var driver = QueuesDriver(limits: CourierLimits(stopBlockingAfter: 3))
        driver.accept(.sample(1), .sample(2))
        for wait: Duration in [.seconds(1), .seconds(2)] {
            driver.end(1, unavailable)
            #expect(driver.numbersUnderWay.isEmpty)
            driver.advance(by: wait)
        }
        driver.end(1, unavailable)
        #expect(driver.numbersUnderWay == [2])
        driver.advance(by: .seconds(4))
        #expect(driver.numbersUnderWay == [2])
        driver.end(2, delivered)
        #expect(driver.numbersUnderWay == [1])
        #expect(driver.reports.map(\.stopsBlocking) == [false, false, true, false])
    }

    @Test func deliveryThatStopsBlockingFreesItsDevicesPace() {
        var driver = QueuesDriver(limits: CourierLimits(stopBlockingAfter: 2))
        driver.accept(.sample(1))
        for _ in 0..<3 {
            driver.end(1, unavailable)
            while driver.numbersUnderWay.isEmpty, let wakeAt = driver.wakeAt { driver.advance(to: wakeAt) }
        }
        driver.end(1, delivered)
        let ends = driver.reports.map { CompletedPush.all(of: [$0], at: 0) }
        #expect(ends.map { $0.map(\.stopsBlocking) } == [[], [true], [true], [false]])
        #expect(ends.map { $0.map(\.counts) } == [[], [false], [false], [true]])
    }

    @Test func backoffGrowsWithEveryFailureAndIsWrittenDown() {
        var driver = QueuesDriver()
        let stored = driver.accept(.sample(1))
        var dues: [Timestamp] = []
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
            driver.end(1, unavailable)
            dues.append(driver.now + .seconds(seconds))
            #expect(driver.wakeAt == dues.last)
            driver.advance(by: .seconds(seconds))
        }
        #expect(driver.changes.reschedulings.map(\.due) == dues)
        #expect(driver.changes.reschedulings.map(\.attempts) == Array(1...12))
        #expect(driver.changes.reschedulings.allSatisfy { $0.key == stored[0].key })
        #expect(driver.reports.map(\.nextDue) == dues)
        #expect(driver.changes.removals.isEmpty)
    }

    @Test func retryAfterDelaysOnlyItsDevice() {
        var driver = QueuesDriver()
        driver.accept(.sample(1), .sample(2), .sample(3, device: 2))
        driver.end(1, Outcome(.retry, status: 429, retryAfter: .minutes(1), reason: "too-many"))
        #expect(driver.wakeAt == driver.now + .seconds(61))
        driver.end(3, delivered)
        driver.accept(.sample(4, device: 3))
        #expect(driver.numbersUnderWay == [4])
    }

    @Test func oneQueueNeverWaitsForAnother() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 2))
        driver.accept((0..<20).map { .sample($0, device: Int64($0)) })
        #expect(driver.numbersUnderWay == [0, 1])
        driver.accept(.sample(50, platform: "android"), .sample(51, device: 2, platform: "android"))
        #expect(driver.numbersUnderWay == [0, 1, 50, 51])
        driver.end(50, delivered)
        #expect(driver.numbersUnderWay == [0, 1, 51])
        driver.end(1, delivered)
        #expect(driver.numbersUnderWay == [0, 51, 2])
    }

    @Test func devicesTakeTurns() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 1))
        driver.accept(.sample(1), .sample(2), .sample(3), .sample(4, device: 2))
        var order: [Int] = []
        while let number = driver.numbersUnderWay.first {
            order.append(number)
            driver.end(number, delivered)
        }
        #expect(order == [1, 4, 2, 3])
    }

    @Test func goneEndsTheDevicesOtherDeliveries() {
        var driver = QueuesDriver()
        var removed: Set<DeviceID> = []
        driver.accept(.sample(1), .sample(2), .sample(3), .sample(4, device: 2))
        removed.insert(DeviceID(rawValue: 1))
        driver.resolve = { removed.contains($0.device) ? .unregistered : .found(host: nil) }
        driver.end(1, Outcome(.gone, status: 410, reason: "unregistered"))
        #expect(driver.reports.map(\.kind) == [.gone, .unregistered, .unregistered])
        #expect(driver.reports.map(\.attempt) == [1, 0, 0])
        #expect(driver.changes.removals.count == 3)
        #expect(driver.numbersUnderWay == [4])
    }

    @Test func goneKeepsDeliveriesOfADeviceThatRegistersAgain() {
        var driver = QueuesDriver()
        driver.accept(.sample(1), .sample(2))
        driver.end(1, Outcome(.gone, status: 410, reason: "unregistered"))
        #expect(driver.numbersUnderWay == [2])
    }

    @Test func rejectedEndsOneDeliveryOnly() {
        var driver = QueuesDriver()
        driver.accept(.sample(1), .sample(2))
        driver.end(1, Outcome(.rejected, status: 413, reason: "too-large"))
        #expect(
            driver.reports == [
                DeliveryReport(
                    delivery: Delivery.sample(1).id,
                    device: DeviceID(rawValue: 1),
                    queue: QueueName(platform: "ios", app: "default"),
                    kind: .rejected,
                    status: 413,
                    reason: "too-large",
                    attempt: 1,
                    acceptedAt: Delivery.sample(1).acceptedAt,
                    mode: .wake
                )
            ]
        )
        #expect(driver.numbersUnderWay == [2])
    }

    @Test func aSecondCompletionIsIgnored() throws {
        var driver = QueuesDriver()
        driver.accept(.sample(1), .sample(2), .sample(3))
        let ticket = try #require(driver.attempts.first)
        driver.end(1, delivered)
        driver.handle(.ended(ticket, delivered))
        driver.handle(.ended(ticket, Outcome(.gone, reason: "gone")))
        #expect(driver.reports.map(\.kind) == [.delivered])
        #expect(driver.numbersUnderWay == [2])
        #expect(driver.queues.inFlight == 1)
    }

    @Test func expiredDeliveriesAreNotAttempted() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 1))
        let now = driver.now
        driver.accept(.sample(1), .sample(2, device: 2, expiresAt: now + .milliseconds(10)), .sample(3, device: 2))
        driver.now += .milliseconds(10)
        driver.end(1, delivered)
        #expect(driver.reports.map(\.kind) == [.delivered, .expired])
        #expect(driver.numbersUnderWay == [3])
    }

    @Test func aRetryThatWouldComeTooLateExpires() {
        var driver = QueuesDriver()
        driver.accept(.sample(1, expiresAt: driver.now + .seconds(1)), .sample(2))
        driver.end(1, unavailable)
        #expect(driver.reports.map(\.kind) == [.expired])
        #expect(driver.reports.first?.status == 503)
        #expect(driver.changes.removals.count == 1)
        #expect(driver.numbersUnderWay == [2])
    }

    @Test func lifetimeEndsADayOfFailures() {
        var driver = QueuesDriver()
        let start = driver.now
        driver.accept(.sample(1))
        var attempts = 0
        while driver.numbersUnderWay == [1] {
            attempts += 1
            driver.end(1, unavailable)
            if let wakeAt = driver.wakeAt { driver.advance(to: wakeAt) }
        }
        #expect(driver.reports.last?.kind == .expired)
        #expect(driver.now < start + .days(1))
        #expect(attempts == 10 + (24 * 3_600_000 - 1_023_000) / 900_000 + 1)
    }

    @Test func unreadableDirectoryIsRetried() {
        var driver = QueuesDriver()
        driver.resolve = { _ in .unavailable }
        driver.accept(.sample(1))
        #expect(driver.reports.map(\.reason) == ["directory-unavailable"])
        driver.resolve = { _ in .found(host: nil) }
        driver.advance(by: .seconds(1))
        #expect(driver.numbersUnderWay == [1])
    }

    @Test func drainingStartsNoAttemptsAndAcceptsOutcomes() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 2))
        driver.accept((1...5).map { .sample($0, device: Int64($0)) })
        driver.handle(.drain)
        driver.end(1, delivered)
        driver.end(2, unavailable)
        driver.advance(by: .seconds(10))
        #expect(driver.numbersUnderWay.isEmpty)
        #expect(driver.queues.inFlight == 0)
        #expect(driver.changes.removals.count == 1)
        #expect(driver.changes.reschedulings.count == 1)
    }
}

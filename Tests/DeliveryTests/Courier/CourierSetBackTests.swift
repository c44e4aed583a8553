import Core
import Push
import Testing
import TimeTestSupport

@testable import Delivery

/// A clock that is set back: it delays no delivery until the clock catches up, and expedites none.
struct CourierSetBackTests {
    private static let steps: [Duration] = [.minutes(1), .hours(1), .days(365)]
    private let delivered = Outcome(.delivered, status: 200, reason: "ok")
    private let down = Outcome(.retry, status: 503, reason: "down")
    private let name = QueueName(platform: "ios", app: "default")

    @Test(arguments: steps)
    func clockChangeDoesNotExtendARetry(step: Duration) {
        var driver = QueuesDriver()
        driver.accept(.sample(1), .sample(2, device: 2))
        driver.end(1, down)
        driver.advance(by: .zero - step)
        #expect(driver.numbersUnderWay == [2])
        #expect(driver.wakeAt == driver.now + .seconds(1))
        driver.advance(by: .seconds(1))
        #expect(driver.numbersUnderWay == [2, 1])
    }

    @Test func deliveriesBehindItStopWaitingToo() {
        var driver = QueuesDriver()
        driver.accept(.sample(1), .sample(2))
        driver.end(1, down)
        driver.advance(by: .hours(-1))
        driver.accept(.sample(3))
        driver.advance(by: .seconds(1))
        for number in 1...3 {
            #expect(driver.numbersUnderWay == [number])
            driver.end(number, delivered)
        }
        #expect(driver.queues.queues[0].devices.count == 0)
    }

    @Test func nonBlockingDeliveryStopsWaitingToo() {
        var driver = QueuesDriver(limits: CourierLimits(stopBlockingAfter: 1))
        driver.accept(.sample(1), .sample(2))
        driver.end(1, down)
        driver.end(2, delivered)
        driver.advance(by: .hours(-1))
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: .seconds(1))
        #expect(driver.numbersUnderWay == [1])
    }

    @Test func clockChangeKeepsADevicesPause() {
        var driver = QueuesDriver()
        driver.accept(.sample(1))
        driver.end(1, Outcome(.retry, status: 429, retryAfter: .hours(2), reason: "too-many", scope: .device))
        driver.advance(by: .hours(-1))
        driver.advance(by: .milliseconds(7_200_999))
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: .milliseconds(1))
        #expect(driver.numbersUnderWay == [1])
    }

    @Test func failureDuringAClockChangeUsesTheNewClock() {
        var driver = QueuesDriver()
        driver.accept(.sample(1))
        driver.now -= .hours(1)
        driver.end(1, down)
        #expect(driver.wakeAt == driver.now + .seconds(1))
    }

    @Test func clockChangeIsWrittenToDisk() {
        var driver = QueuesDriver(limits: CourierLimits(stopBlockingAfter: 2))
        driver.accept(.sample(1), .sample(2), .sample(3, device: 2))
        driver.end(1, down)
        driver.advance(by: .seconds(1))
        driver.end(1, down)
        driver.end(3, down)
        let before = driver.changes.reschedulings.count
        driver.advance(by: .hours(-1))
        let changes = driver.changes.reschedulings[before...]
        // Number 2, which was never tried, stays a first try.
        #expect(Set(changes.map(\.key.sequence)) == [1, 3])
        #expect(changes.first { $0.key.sequence == 1 }?.due == driver.now + .seconds(2))
        #expect(changes.first { $0.key.sequence == 1 }?.attempts == 2)
        #expect(changes.first { $0.key.sequence == 3 }?.due == driver.now + .seconds(1))
    }

    @Test func smallClockStepIsIgnored() {
        var driver = QueuesDriver()
        driver.accept(.sample(1))
        driver.end(1, down)
        let due = driver.wakeAt
        let before = driver.changes.reschedulings.count
        for _ in 0..<10 { driver.advance(by: .milliseconds(-100)) }
        #expect(driver.wakeAt == due && driver.changes.reschedulings.count == before)
        // Many small steps add up to a large one.
        driver.advance(by: .milliseconds(-1))
        #expect(driver.wakeAt == due.map { $0 - .milliseconds(1001) })
    }

    @Test(arguments: steps)
    func clockChangeKeepsTheCredentialPause(step: Duration) {
        var driver = QueuesDriver()
        driver.accept(.sample(1))
        driver.end(1, Outcome(.misconfigured, status: 403, reason: "invalid-token"))
        driver.advance(by: .zero - step)
        #expect(driver.queues.status(now: driver.now).first?.pause?.until == driver.now + .minutes(1))
        driver.accept(.sample(2, device: 2))
        driver.advance(by: .milliseconds(59_999))
        #expect(!driver.numbersUnderWay.contains(2))
        driver.advance(by: .milliseconds(1))
        #expect(driver.numbersUnderWay.count == 1)
    }

    @Test(arguments: steps)
    func clockChangeKeepsAServicesPause(step: Duration) {
        var driver = QueuesDriver()
        driver.accept(.sample(1))
        driver.end(1, Outcome(.retry, status: 429, retryAfter: .minutes(10), reason: "quota", scope: .transport))
        driver.advance(by: .zero - step)
        driver.accept(.sample(2, device: 2))
        driver.advance(by: .milliseconds(599_999))
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: .milliseconds(1))
        #expect(driver.numbersUnderWay == [2])
    }

    @Test(arguments: steps)
    func clockChangeKeepsAHostsPause(step: Duration) {
        var driver = QueuesDriver()
        driver.resolve = { _ in .found(host: "angry") }
        driver.accept(.sample(1))
        driver.end(1, Outcome(.retry, status: 429, retryAfter: .minutes(10), reason: "too-many", scope: .host))
        driver.accept(.sample(2, device: 2))
        driver.advance(by: .zero - step)
        driver.accept(.sample(3, device: 3))
        driver.advance(by: .milliseconds(599_999))
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: .milliseconds(1))
        #expect(driver.numbersUnderWay == [2])
    }

    /// After a restart with a clock that is behind.
    @Test func delayFromALaterClockIsLimitedToItsLength() throws {
        let now: Timestamp = 1_700_000_000_000
        let row = { (number: Int, acceptedAt: Timestamp, due: Timestamp) in
            StoredDelivery(
                key: OutboxKey(queue: 1, sequence: Int64(number)),
                delivery: .sample(number, device: Int64(number), acceptedAt: acceptedAt),
                attempts: 1,
                due: due
            )
        }
        let rows = [
            // Accepted an hour from now, and put off by five seconds.
            row(1, now + .hours(1), now + .hours(1) + .seconds(5)),
            // Put off after the clock was set back.
            row(2, now + .hours(1), now + .seconds(9)),
            // This one is correct: a push service asked for it.
            row(3, now, now + .hours(2)),
        ]
        var driver = QueuesDriver(
            limits: CourierLimits(inFlight: 4, window: 16),
            waiting: [StoredQueue(number: 1, name: name, last: rows[2].key)]
        )
        driver.handle(.wake)
        let read = try #require(driver.reads.first { if case .retries = $0.part { true } else { false } })
        driver.handle(.page(read, OutboxPage(deliveries: rows, isLast: true)))
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: .seconds(5))
        #expect(driver.numbersUnderWay == [1])
        driver.advance(by: .seconds(4))
        #expect(driver.numbersUnderWay == [1, 2])
        driver.advance(by: .hours(2))
        #expect(driver.numbersUnderWay == [1, 2, 3])
    }
}

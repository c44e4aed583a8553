import Notifications
import Testing

@testable import Delivery

/// Of a clock that is put back: nothing waits for it to be there again, and nothing goes earlier for it.
struct CourierSetBackTests {
    private static let steps: [Int64] = [60_000, 3_600_000, 365 * 86_400_000]
    private let delivered = Outcome(.delivered, status: 200, reason: "ok")
    private let down = Outcome(.retry, status: 503, reason: "down")
    private let name = QueueName(platform: "ios", app: "default")

    @Test(arguments: steps)
    func aRetryWaitsNoLongerThanItWasTo(step: Int64) {
        var driver = QueuesDriver()
        driver.accept(.sample(1), .sample(2, device: 2))
        driver.end(1, down)
        driver.advance(by: -step)
        #expect(driver.numbersUnderWay == [2])
        #expect(driver.wakeAt == driver.now + 1000)
        driver.advance(by: 1000)
        #expect(driver.numbersUnderWay == [2, 1])
    }

    @Test func whatWaitsBehindItWaitsNoLongerEither() {
        var driver = QueuesDriver()
        driver.accept(.sample(1), .sample(2))
        driver.end(1, down)
        driver.advance(by: -3_600_000)
        driver.accept(.sample(3))
        driver.advance(by: 1000)
        for number in 1...3 {
            #expect(driver.numbersUnderWay == [number])
            driver.end(number, delivered)
        }
        #expect(driver.queues.queues[0].devices.count == 0)
    }

    @Test func whatStandsAsideWaitsNoLongerEither() {
        var driver = QueuesDriver(limits: CourierLimits(standAsideAfter: 1))
        driver.accept(.sample(1), .sample(2))
        driver.end(1, down)
        driver.end(2, delivered)
        driver.advance(by: -3_600_000)
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: 1000)
        #expect(driver.numbersUnderWay == [1])
    }

    @Test func aDeviceThatAskedForPeaceIsLeftInPeaceAsLong() {
        var driver = QueuesDriver()
        driver.accept(.sample(1))
        driver.end(1, Outcome(.retry, status: 429, retryAfter: 7_200_000, reason: "too-many", scope: .device))
        driver.advance(by: -3_600_000)
        driver.advance(by: 7_200_999)
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: 1)
        #expect(driver.numbersUnderWay == [1])
    }

    @Test func whatEndsInTheMomentInWhichItIsNoticedIsPutOffByTheNewClock() {
        var driver = QueuesDriver()
        driver.accept(.sample(1))
        driver.now -= 3_600_000
        driver.end(1, down)
        #expect(driver.wakeAt == driver.now + 1000)
    }

    @Test func theDiskLearnsOfIt() {
        var driver = QueuesDriver(limits: CourierLimits(standAsideAfter: 2))
        driver.accept(.sample(1), .sample(2), .sample(3, device: 2))
        driver.end(1, down)
        driver.advance(by: 1000)
        driver.end(1, down)
        driver.end(3, down)
        let before = driver.changes.reschedulings.count
        driver.advance(by: -3_600_000)
        let changes = driver.changes.reschedulings[before...]
        // Number 2, which was never tried, stays a first try.
        #expect(Set(changes.map(\.key.sequence)) == [1, 3])
        #expect(changes.first { $0.key.sequence == 1 }?.due == driver.now + 2000)
        #expect(changes.first { $0.key.sequence == 1 }?.attempts == 2)
        #expect(changes.first { $0.key.sequence == 3 }?.due == driver.now + 1000)
    }

    @Test func aSmallStepBackMovesNothing() {
        var driver = QueuesDriver()
        driver.accept(.sample(1))
        driver.end(1, down)
        let due = driver.wakeAt
        let before = driver.changes.reschedulings.count
        for _ in 0..<10 { driver.advance(by: -100) }
        #expect(driver.wakeAt == due && driver.changes.reschedulings.count == before)
        // Many of them are a large one.
        driver.advance(by: -1)
        #expect(driver.wakeAt == due.map { $0 - 1001 })
    }

    @Test(arguments: steps)
    func aPauseForBadCredentialsEndsAsBefore(step: Int64) {
        var driver = QueuesDriver()
        driver.accept(.sample(1))
        driver.end(1, Outcome(.misconfigured, status: 403, reason: "invalid-token"))
        driver.advance(by: -step)
        #expect(driver.queues.status(now: driver.now).first?.pausedUntil == driver.now + 60_000)
        driver.accept(.sample(2, device: 2))
        driver.advance(by: 59_999)
        #expect(!driver.numbersUnderWay.contains(2))
        driver.advance(by: 1)
        #expect(driver.numbersUnderWay.count == 1)
    }

    @Test(arguments: steps)
    func aPauseThatAServiceAskedForEndsAsBefore(step: Int64) {
        var driver = QueuesDriver()
        driver.accept(.sample(1))
        driver.end(1, Outcome(.retry, status: 429, retryAfter: 600_000, reason: "quota", scope: .transport))
        driver.advance(by: -step)
        driver.accept(.sample(2, device: 2))
        driver.advance(by: 599_999)
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: 1)
        #expect(driver.numbersUnderWay == [2])
    }

    @Test(arguments: steps)
    func aBreakThatAHostAskedForEndsAsBefore(step: Int64) {
        var driver = QueuesDriver()
        driver.resolve = { _ in .found(host: "angry") }
        driver.accept(.sample(1))
        driver.end(1, Outcome(.retry, status: 429, retryAfter: 600_000, reason: "too-many", scope: .host))
        driver.accept(.sample(2, device: 2))
        driver.advance(by: -step)
        driver.accept(.sample(3, device: 3))
        driver.advance(by: 599_999)
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: 1)
        #expect(driver.numbersUnderWay == [2])
    }

    /// As after a restart with a clock that is behind.
    @Test func whatTheDiskPutOffByALaterClockWaitsNoLongerThanItWasTo() throws {
        let now: Int64 = 1_700_000_000_000
        let hour: Int64 = 3_600_000
        let row = { (number: Int, acceptedAt: Int64, due: Int64) in
            StoredDelivery(
                key: OutboxKey(queue: 1, sequence: Int64(number)),
                delivery: .sample(number, device: Int64(number), acceptedAt: acceptedAt),
                attempts: 1,
                due: due
            )
        }
        let rows = [
            // Accepted an hour from now, and put off by five seconds.
            row(1, now + hour, now + hour + 5_000),
            // Put off since the clock was put back.
            row(2, now + hour, now + 9_000),
            // Nothing is wrong with this one: a push service asked for it.
            row(3, now, now + 2 * hour),
        ]
        var driver = QueuesDriver(
            limits: CourierLimits(inFlight: 4, window: 16),
            waiting: [StoredQueue(number: 1, name: name, last: rows[2].key)]
        )
        driver.handle(.wake)
        let read = try #require(driver.reads.first { if case .retries = $0.part { true } else { false } })
        driver.handle(.page(read, OutboxPage(deliveries: rows, isLast: true)))
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: 5_000)
        #expect(driver.numbersUnderWay == [1])
        driver.advance(by: 4_000)
        #expect(driver.numbersUnderWay == [1, 2])
        driver.advance(by: 2 * hour)
        #expect(driver.numbersUnderWay == [1, 2, 3])
    }
}

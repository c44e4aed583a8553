import Core
import Push
import Testing
import TimeTestSupport

@testable import Delivery

/// The scope of a retry: one device, a host that a user chose, or a push service as a whole.
struct CourierScopeTests {
    private let delivered = Outcome(.delivered, status: 200, reason: "ok")
    private let ios = QueueName(platform: "ios", app: "default")

    private func driver(inFlight: Int = 10, inFlightPerHost: Int = 4) -> QueuesDriver {
        var driver = QueuesDriver(
            limits: CourierLimits(inFlight: inFlight, inFlightPerHost: inFlightPerHost, stopBlockingAfter: 2)
        )
        driver.resolve = { .found(host: $0.device.rawValue < 100 ? "angry" : "\($0.device.rawValue)") }
        return driver
    }

    @Test func deviceIsPausedHoweverManyDeliveriesArrive() {
        var driver = driver()
        driver.accept(.sample(1), .sample(2), .sample(3, device: 2))
        let tooMany = Outcome(.retry, status: 429, retryAfter: .minutes(1), reason: "TooManyRequests", scope: .device)
        for _ in 0..<5 {
            driver.end(1, tooMany)
            #expect(driver.numbersUnderWay == [3])
            driver.advance(by: .milliseconds(59_999))
            #expect(driver.numbersUnderWay == [3])
            while !driver.numbersUnderWay.contains(1), let wakeAt = driver.wakeAt { driver.advance(to: wakeAt) }
        }
        driver.end(1, delivered)
        #expect(driver.numbersUnderWay == [3, 2])
        #expect(driver.pauses.isEmpty)
        #expect(!driver.reports.contains { $0.stopsBlocking })
    }

    @Test func failingDeviceDoesNotPauseItsHost() {
        var driver = driver()
        driver.accept(.sample(1))
        driver.end(1, Outcome(.retry, status: 429, retryAfter: .minutes(1), reason: "slow-down", scope: .device))
        driver.accept(.sample(2, device: 2))
        #expect(driver.numbersUnderWay == [2])
    }

    @Test(arguments: [
        Outcome(.retry, status: 503, reason: "down", scope: .host),
        Outcome(.retry, status: 429, reason: "too-many", scope: .usual),
        Outcome(.retry, status: 429, reason: "too-many", scope: .host),
    ])
    func pausesOfAHostWithoutRetryAfterGrow(_ outcome: Outcome) {
        var driver = driver()
        driver.accept(.sample(1), .sample(100, device: 100))
        for seconds in [5, 10, 20, 40, 80, 160, 320, 640, 900, 900] {
            let begin = driver.now
            driver.end(driver.numbersUnderWay.first { $0 != 100 } ?? 0, outcome)
            driver.advance(to: begin + .milliseconds(seconds * 1_000 - 1))
            #expect(driver.numbersUnderWay == [100])
            // Its own next attempt may be due later.
            while driver.numbersUnderWay == [100], let wakeAt = driver.wakeAt { driver.advance(to: wakeAt) }
            #expect(driver.numbersUnderWay == [100, 1])
        }
        driver.end(1, delivered)
        driver.accept(.sample(2, device: 2))
        driver.end(2, outcome)
        driver.accept(.sample(3, device: 3))
        driver.advance(by: .milliseconds(4999))
        #expect(driver.numbersUnderWay == [100])
        driver.advance(by: .milliseconds(1))
        #expect(driver.numbersUnderWay.count == 2)
    }

    @Test func operatorsServiceIsNotPausedByOneResponse() {
        var driver = QueuesDriver()
        driver.accept(.sample(1), .sample(2, device: 2))
        driver.end(1, Outcome(.retry, status: 503, reason: "down", scope: .host))
        driver.accept(.sample(3, device: 3))
        #expect(driver.numbersUnderWay == [2, 3])
        #expect(driver.pauses.isEmpty)
    }

    @Test func aBurstOfRefusalsIsOnePause() {
        var driver = driver()
        driver.accept((1...4).map { .sample($0, device: Int64($0)) })
        for number in 1...4 { driver.end(number, Outcome(.retry, status: 503, reason: "down", scope: .host)) }
        driver.accept(.sample(9, device: 9))
        #expect(driver.queues.status(now: driver.now).map(\.pausedHosts) == [1])
        driver.advance(by: .seconds(5))
        #expect(driver.numbersUnderWay.count == 1)
        #expect(driver.queues.status(now: driver.now).map(\.pausedHosts) == [0])
    }

    @Test func pausedHostIsProbedWithOneAttemptFirst() {
        var driver = driver()
        driver.accept((1...4).map { .sample($0, device: Int64($0)) })
        for number in 1...4 { driver.end(number, Outcome(.retry, status: 503, reason: "down", scope: .host)) }
        driver.accept((10...20).map { .sample($0, device: Int64($0)) })
        driver.advance(by: .seconds(5))
        #expect(driver.numbersUnderWay.count == 1)
        driver.end(driver.numbersUnderWay[0], delivered)
        #expect(driver.numbersUnderWay.count == 4)
    }

    @Test func unresponsiveHostHoldsOneSlot() {
        var driver = driver()
        driver.accept((1...20).map { .sample($0, device: Int64($0)) })
        for number in 1...4 { driver.end(number, Outcome(.retry, reason: "timeout")) }
        #expect(driver.numbersUnderWay.count == 1)
        driver.end(driver.numbersUnderWay[0], Outcome(.rejected, status: 400, reason: "malformed"))
        #expect(driver.numbersUnderWay.count == 4)
    }

    @Test func deliveryNotAttemptedDuringAPauseIsNotCounted() {
        var driver = driver()
        driver.accept(.sample(1))
        driver.end(1, Outcome(.retry, status: 429, retryAfter: .minutes(1), reason: "too-many", scope: .host))
        driver.accept((2...20).map { .sample($0, device: Int64($0)) })
        driver.advance(by: .minutes(1))
        while driver.reports.count < 21 {
            if let number = driver.numbersUnderWay.first {
                driver.end(number, delivered)
            } else if let wakeAt = driver.wakeAt {
                driver.advance(to: wakeAt)
            } else {
                break
            }
        }
        let attempts = driver.reports.filter { $0.kind == .delivered }.map(\.attempt).sorted()
        #expect(attempts == Array(repeating: 1, count: 19) + [2])
    }

    @Test func aUsedUpQuotaPausesTheWholeQueueAndNoOther() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 50))
        driver.accept((1...60).map { .sample($0, device: Int64($0)) })
        driver.accept(.sample(99, platform: "android"))
        let quota = Outcome(.retry, status: 429, retryAfter: .minutes(1), reason: "quota-exceeded", scope: .transport)
        for number in 1...50 { driver.end(number, quota) }
        #expect(driver.numbersUnderWay == [99])
        #expect(
            driver.pauses == [
                QueuePause(queue: ios, until: driver.now + .minutes(1), reason: "quota-exceeded", cause: .asked)
            ]
        )
        #expect(driver.reports.allSatisfy { $0.kind == .retry })
        let status = driver.queues.status(now: driver.now)
        #expect(status.map(\.pause?.until) == [driver.now + .minutes(1), nil])
        #expect(status.map(\.pause?.cause) == [.asked, nil])
        #expect(status.map(\.pause?.reason) == ["quota-exceeded", nil])
        driver.advance(by: .milliseconds(59_999))
        #expect(driver.numbersUnderWay == [99])
        driver.advance(by: .milliseconds(1))
        #expect(driver.numbersUnderWay == [99, 51, 52, 53, 54])
        driver.end(51, delivered)
        #expect(driver.resumed == [ios])
        #expect(driver.numbersUnderWay.count == 6)
        #expect(driver.queues.status(now: driver.now).first?.pause == nil)
    }

    @Test func aQuotaThatIsStillUsedUpPausesAgainAndLonger() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 50))
        driver.accept((1...60).map { .sample($0, device: Int64($0)) })
        let quota = Outcome(.retry, status: 429, reason: "quota-exceeded", scope: .transport)
        for seconds in [5, 10, 20] {
            let underWay = driver.numbersUnderWay
            for number in underWay { driver.end(number, quota) }
            #expect(driver.numbersUnderWay.isEmpty)
            driver.advance(by: .milliseconds(seconds * 1_000 - 1))
            #expect(driver.numbersUnderWay.isEmpty)
            driver.advance(by: .milliseconds(1))
            #expect(driver.numbersUnderWay.count == 4)
        }
        #expect(driver.pauses.count == 3)
    }

    @Test func badCredentialsDuringAPauseAreNotForgotten() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 5))
        driver.accept((1...9).map { .sample($0, device: Int64($0)) })
        driver.end(1, Outcome(.retry, status: 429, reason: "quota-exceeded", scope: .transport))
        driver.end(2, Outcome(.misconfigured, status: 403, reason: "invalid-token"))
        #expect(driver.pauses.map(\.cause) == [.asked, .misconfigured])
        driver.advance(by: .milliseconds(59_999))
        #expect(driver.numbersUnderWay == [3, 4, 5])
        for number in 3...5 { driver.end(number, delivered) }
        driver.advance(by: .milliseconds(1))
        #expect(driver.numbersUnderWay.count == 1)
    }

    @Test func operatorCanLiftAPause() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 5))
        driver.accept((1...9).map { .sample($0, device: Int64($0)) })
        for number in 1...5 {
            driver.end(number, Outcome(.retry, retryAfter: .minutes(10), reason: "quota-exceeded", scope: .transport))
        }
        driver.handle(.lift)
        #expect(driver.numbersUnderWay == [6, 7, 8, 9])
    }
}

import Core
import Push
import Testing
import TimeTestSupport

@testable import Delivery

struct CourierPauseTests {
    private let delivered = Outcome(.delivered, status: 200, reason: "ok")
    private let misconfigured = Outcome(.misconfigured, status: 403, reason: "invalid-token")
    private let ios = QueueName(platform: "ios", app: "default")

    @Test func badCredentialsPauseTheQueueAndKeepItsDeliveries() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 2))
        driver.accept((1...5).map { .sample($0, device: Int64($0)) })
        driver.accept(.sample(9, platform: "android"))
        driver.end(1, misconfigured)
        driver.end(2, misconfigured)
        #expect(driver.pauses == [QueuePause(queue: ios, until: driver.now + .minutes(1), reason: "invalid-token")])
        #expect(driver.numbersUnderWay == [9])
        #expect(driver.reports.map(\.kind) == [.misconfigured, .misconfigured])
        #expect(driver.changes.removals.isEmpty)
        driver.advance(by: .milliseconds(59_999))
        #expect(driver.numbersUnderWay == [9])
    }

    @Test func onlyOneProbeGoesOutAfterThePause() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 2))
        driver.accept((1...5).map { .sample($0, device: Int64($0)) })
        driver.end(1, misconfigured)
        driver.end(2, misconfigured)
        driver.advance(by: .minutes(1))
        #expect(driver.numbersUnderWay == [3])
        driver.end(3, delivered)
        #expect(driver.resumed == [ios])
        #expect(driver.numbersUnderWay.count == 2)
        driver.end(4, delivered)
        driver.end(5, delivered)
        #expect(Set(driver.numbersUnderWay) == [1, 2])
    }

    @Test func pausesGrowUntilAProbeSucceeds() {
        var driver = QueuesDriver()
        driver.accept(.sample(1))
        var lengths: [Duration] = []
        for _ in 0..<6 {
            driver.end(1, misconfigured)
            while driver.numbersUnderWay.isEmpty, let wakeAt = driver.wakeAt { driver.advance(to: wakeAt) }
        }
        var begin = Timestamp(milliseconds: 1_700_000_000_000)
        for pause in driver.pauses {
            lengths.append(pause.until - begin)
            begin = pause.until
        }
        #expect(lengths == [1, 2, 4, 8, 15, 15].map { .minutes($0) })
        driver.end(1, delivered)
        driver.accept(.sample(2))
        driver.end(2, misconfigured)
        #expect(driver.pauses.last?.until == driver.now + .minutes(1))
    }

    @Test func aNetworkErrorIsNoProofOfGoodCredentials() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 4))
        driver.accept((1...4).map { .sample($0, device: Int64($0)) })
        driver.end(1, misconfigured)
        for number in 2...4 { driver.end(number, Outcome(.retry, reason: "network")) }
        driver.advance(by: .minutes(1))
        #expect(driver.numbersUnderWay.count == 1)
        driver.end(driver.numbersUnderWay[0], Outcome(.retry, reason: "network"))
        #expect(driver.numbersUnderWay.count == 1)
        #expect(driver.resumed.isEmpty)
    }

    @Test func attemptBeforeThePauseDoesNotEndIt() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 2))
        driver.accept((1...5).map { .sample($0, device: Int64($0)) })
        driver.end(1, misconfigured)
        driver.end(2, delivered)
        #expect(driver.numbersUnderWay.isEmpty)
        #expect(driver.resumed.isEmpty)
    }

    @Test func deliveriesWaitForAMissingTransport() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 2))
        driver.resolve = { _ in .noTransport }
        driver.accept((1...5).map { .sample($0, device: Int64($0)) })
        #expect(driver.pauses == [QueuePause(queue: ios, until: driver.now + .minutes(1), reason: "no-transport")])
        #expect(driver.reports.isEmpty)
        driver.advance(by: .minutes(1))
        #expect(driver.pauses.map(\.until) == [driver.now, driver.now + .minutes(2)])
        driver.resolve = { _ in .found(host: nil) }
        driver.handle(.lift)
        #expect(driver.numbersUnderWay.count == 1)
        driver.end(driver.numbersUnderWay[0], delivered)
        #expect(driver.numbersUnderWay.count == 2)
        #expect(driver.reports.map(\.attempt) == [1])
    }

    @Test func deliveryThatExpiresDuringAPauseEnds() {
        var driver = QueuesDriver()
        driver.resolve = { _ in .noTransport }
        driver.accept((1...3).map { .sample($0, device: Int64($0), expiresAt: driver.now + .seconds(1)) })
        driver.advance(by: .minutes(1))
        #expect(driver.reports.map(\.kind) == [.expired, .expired, .expired])
        #expect(driver.pauses.count == 1)
    }
}

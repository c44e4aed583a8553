import Core
import Push
import Testing
import TimeTestSupport

@testable import Delivery

struct CourierHostTests {
    private let delivered = Outcome(.delivered, status: 201, reason: "ok")

    /// Returns a driver with two places per host. The device determines the host: below 100 all share one.
    private func driver() -> QueuesDriver {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 10, inFlightPerHost: 2))
        driver.resolve = { .found(host: $0.device.rawValue < 100 ? "slow" : "\($0.device.rawValue)") }
        return driver
    }

    @Test func slowHostDoesNotDelayOthers() {
        var driver = driver()
        driver.accept((1...20).map { .sample($0, device: Int64($0)) })
        #expect(driver.numbersUnderWay == [1, 2])
        driver.accept((100...107).map { .sample($0, device: Int64($0)) })
        #expect(driver.numbersUnderWay == [1, 2] + Array(100...107))
        driver.end(1, delivered)
        #expect(driver.numbersUnderWay == [2] + Array(100...107) + [3])
    }

    @Test func unresponsiveHostsDoNotDelayOthers() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 10, slow: 15))
        driver.resolve = { .found(host: "\($0.device.rawValue)") }
        driver.accept((201...210).map { .sample($0, device: Int64($0)) } + [.sample(1, device: 1)])
        #expect(driver.numbersUnderWay == Array(201...210))
        #expect(driver.wakeAt == driver.now + .milliseconds(250))
        driver.advance(by: .milliseconds(250))
        #expect(driver.numbersUnderWay == Array(201...210) + [1])
        // Slow deliveries have a limit too: up to 15 in addition to those that are not slow.
        driver.accept((301...330).map { .sample($0, device: Int64($0)) })
        #expect(driver.numbersUnderWay.count == 20)
        driver.advance(by: .milliseconds(250))
        #expect(driver.numbersUnderWay.count == 25)
        driver.advance(by: .seconds(60))
        #expect(driver.numbersUnderWay.count == 25)
        driver.end(201, Outcome(.retry, reason: "timeout"))
        #expect(driver.numbersUnderWay.count == 25)
        for number in driver.numbersUnderWay { driver.end(number, delivered) }
        driver.accept((401...420).map { .sample($0, device: Int64($0)) })
        #expect(driver.numbersUnderWay.count == 10)
    }

    /// Without capacity, a router doubts no host and sets no delivery aside; an evicted push doubts its slow host.
    @Test(arguments: ["overloaded", "evicted", "timeout"])
    func theRoutersOwnFailuresAreNoFailuresOfADevice(_ reason: String) {
        var driver = driver()
        driver.accept((1...4).map { .sample($0, device: Int64($0)) })
        var isHostPaused = false
        for _ in 0..<30 {
            while let number = driver.numbersUnderWay.first { driver.end(number, Outcome(.retry, reason: reason)) }
            isHostPaused = isHostPaused || driver.queues.status(now: driver.now).contains { $0.pausedHosts > 0 }
            guard let wakeAt = driver.wakeAt else { break }
            driver.advance(to: wakeAt)
        }
        #expect(driver.reports.contains(where: \.stopsBlocking) == (reason == "timeout"))
        #expect(isHostPaused == (reason != "overloaded"))
    }

    @Test func everyDeliveryForABusyHostIsSentEventually() {
        var driver = driver()
        driver.accept((1...50).map { .sample($0, device: Int64($0)) })
        var most = 0
        var ended = 0
        while ended < 50 {
            most = max(most, driver.numbersUnderWay.count)
            if let number = driver.numbersUnderWay.first {
                driver.end(number, delivered)
                ended += 1
            } else if let wakeAt = driver.wakeAt {
                driver.advance(to: wakeAt)
            } else {
                break
            }
        }
        #expect(ended == 50)
        #expect(most == 2)
        #expect(driver.reports.allSatisfy { $0.kind == .delivered && $0.attempt == 1 })
        #expect(driver.changes.reschedulings.isEmpty)
    }

    @Test func retryAfterPausesTheWholeHost() {
        var driver = driver()
        driver.accept(.sample(1, device: 1), .sample(2, device: 2), .sample(100, device: 100))
        driver.end(1, Outcome(.retry, status: 429, retryAfter: .seconds(30), reason: "too-many"))
        driver.end(2, delivered)
        driver.accept(.sample(3, device: 3), .sample(101, device: 101))
        #expect(driver.numbersUnderWay == [100, 101])
        driver.advance(by: .seconds(30))
        #expect(driver.numbersUnderWay == [100, 101, 3])
        driver.advance(by: .seconds(1))
        #expect(driver.numbersUnderWay == [100, 101, 3, 1])
    }

    @Test func hostThatAsksForADayIsRetriedEarlier() {
        var driver = driver()
        driver.accept(.sample(1, device: 1))
        driver.end(1, Outcome(.retry, status: 429, retryAfter: .hours(23), reason: "too-many"))
        driver.accept(.sample(2, device: 2))
        #expect(driver.numbersUnderWay.isEmpty)
        driver.advance(by: .minutes(15))
        #expect(driver.numbersUnderWay == [2])
    }

    @Test func deliveryWaitingForAHostContinuesWhenEarlierOnesAreGone() {
        var driver = driver()
        driver.accept((1...4).map { .sample($0, device: Int64($0)) })
        #expect(driver.numbersUnderWay == [1, 2])
        driver.resolve = { $0.device.rawValue == 3 ? .unregistered : .found(host: "slow") }
        driver.end(1, delivered)
        #expect(driver.reports.map(\.kind) == [.delivered, .unregistered])
        driver.end(2, delivered)
        #expect(driver.numbersUnderWay == [4])
    }

    @Test func burstForOneHostWaitsForSlotsNotForTime() {
        var driver = driver()
        driver.accept((1...90).map { .sample($0, device: Int64($0)) })
        for _ in 1...90 {
            guard let number = driver.numbersUnderWay.first else { break }
            driver.end(number, delivered)
        }
        #expect(driver.reports.count == 90)
        #expect(driver.numbersUnderWay.isEmpty)
    }

    @Test func deliveriesWaitingForHostsAreLimited() {
        var driver = QueuesDriver(limits: CourierLimits(inFlight: 100, window: 200, inFlightPerHost: 2))
        driver.resolve = { .found(host: "\($0.device.rawValue % 10)") }
        driver.accept((1...190).map { .sample($0, device: Int64($0)) })
        let held = driver.queues.queues[0]
        let waiting = held.devices.count - held.inFlight - held.devices.delayedCount
        #expect(waiting >= 50 && waiting <= 50 + 10 * 2)
    }

    @Test func unusedHostSlotsGoToTheNextWaiting() {
        var driver = driver()
        driver.accept((1...60).map { .sample($0, device: Int64($0)) })
        driver.resolve = { $0.device.rawValue < 60 ? .unregistered : .found(host: "slow") }
        driver.end(1, delivered)
        #expect(driver.reports.count == 58)
        driver.end(2, delivered)
        #expect(driver.numbersUnderWay == [60])
    }

    @Test(arguments: ["unreachable", "closed", "tls-expired"])
    func hostThatRefusesFastIsTriedNoMoreOftenThanASlowOne(_ reason: String) {
        var driver = driver()
        driver.accept((1...32).map { .sample($0, device: Int64($0)) })
        let begin = driver.now
        var attempts = 0
        while driver.now < begin + .hours(1) {
            if let number = driver.numbersUnderWay.first {
                attempts += 1
                driver.end(number, Outcome(.retry, reason: reason))
            } else if let wakeAt = driver.wakeAt {
                driver.advance(to: max(wakeAt, driver.now + .milliseconds(1)))
            } else {
                break
            }
        }
        // Two immediately, one that proves it, and then after 5, 10, 20, 40, 60, 60, … seconds.
        #expect(attempts >= 55 && attempts <= 70)
        driver.accept(.sample(99, device: 99))
        while driver.numbersUnderWay.isEmpty, let wakeAt = driver.wakeAt { driver.advance(to: wakeAt) }
        driver.end(driver.numbersUnderWay[0], delivered)
        #expect(driver.numbersUnderWay.count == 2)
    }

    @Test func attemptsBeforeAHostIsInDoubtDoNotPauseIt() {
        var driver = driver()
        driver.accept((1...10).map { .sample($0, device: Int64($0)) })
        for number in 1...2 { driver.end(number, Outcome(.retry, reason: "closed")) }
        #expect(driver.numbersUnderWay.count == 1)
        driver.end(driver.numbersUnderWay[0], delivered)
        #expect(driver.numbersUnderWay.count == 2)
    }

    @Test func retryReportsItsHostsNextAttempt() throws {
        var driver = driver()
        driver.accept(.sample(1, device: 1), .sample(2, device: 2))
        driver.end(1, Outcome(.retry, status: 503, retryAfter: .minutes(10), reason: "server-error", scope: .host))
        let begin = driver.now
        driver.end(2, Outcome(.retry, status: 500, reason: "server-error"))
        let due = try #require(driver.reports.last?.nextDue)
        #expect(due >= begin + .minutes(10))
        driver.accept(.sample(3, device: 3))
        let report = try #require(driver.postponed.last)
        #expect(report.kind == .postponed && report.delivery == Delivery.sample(3).id && report.attempt == 0)
        #expect(report.nextDue == begin + .minutes(10))
        #expect(!report.kind.isFinal)
    }

    @Test func alwaysRefusingEndpointIsPaused() {
        var driver = driver()
        driver.accept((1...200).map { .sample($0, device: 1) })
        driver.accept((201...230).map { .sample($0, device: 2) })
        let begin = driver.now
        var refused = 0
        while driver.now < begin + .minutes(10) {
            if let number = driver.numbersUnderWay.first {
                let isRefusing = number <= 200
                refused += isRefusing ? 1 : 0
                driver.end(number, isRefusing ? Outcome(.rejected, status: 405, reason: "other") : delivered)
            } else if let wakeAt = driver.wakeAt {
                driver.advance(to: max(wakeAt, driver.now + .milliseconds(1)))
            } else {
                break
            }
        }
        // Four immediately, and then after 5, 10, 20, 40, 60, 60, … seconds.
        #expect(refused >= 12 && refused <= 18)
        #expect(driver.reports.count { $0.kind == .delivered } == 30)
        #expect(driver.postponed.contains { $0.reason == "endpoint-refuses" })
    }

    @Test func acceptedPushClearsAnEndpointsRefusals() {
        var driver = driver()
        driver.accept((1...100).map { .sample($0, device: 1) })
        for number in 1...100 {
            driver.end(number, number % 4 == 0 ? delivered : Outcome(.rejected, status: 413, reason: "too-large"))
        }
        #expect(driver.reports.count == 100)
    }

    /// The first device's push always fails like one to a host in trouble.
    @Test(arguments: [2, 3, 40])
    func alwaysFailingDeviceDoesNotBlockItsHost(devices: Int) {
        var driver = QueuesDriver()
        driver.resolve = { _ in .found(host: "host") }
        let failed = Outcome(.retry, reason: "failed")
        driver.accept(.sample(1, device: 1))
        for _ in 1...3 {
            while driver.numbersUnderWay.isEmpty, let wakeAt = driver.wakeAt { driver.advance(to: wakeAt) }
            driver.end(1, failed)
        }
        driver.accept((2...devices).map { .sample($0, device: Int64($0)) })
        var attempts = 0
        var reached: Set<Int> = []
        while reached.count < devices - 1, attempts < 2 * devices {
            guard let number = driver.numbersUnderWay.first else {
                guard let wakeAt = driver.wakeAt else { break }
                driver.advance(to: max(wakeAt, driver.now + .milliseconds(1)))
                continue
            }
            attempts += 1
            if number > 1 { reached.insert(number) }
            driver.end(number, failed)
        }
        #expect(reached == Set(2...devices))
    }
}

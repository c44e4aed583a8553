import Core
import DeliveryTestSupport
import Push
import Registry
import Testing

@testable import Pipeline

/// "Pacing, per device", sentence by sentence.
@Suite struct PacingRulesTests {
    private typealias Push = PaceDriver.Push

    private func quiet(_ start: String, _ end: String, _ offset: String = "Z", dm: Bool = false) throws -> QuietHours {
        QuietHours(
            start: try #require(TimeOfDay(start)),
            end: try #require(TimeOfDay(end)),
            offset: try #require(UTCOffset(offset)),
            letsDirectMessagesThrough: dm
        )
    }

    @Test func firstEventIsSentImmediately() {
        var driver = PaceDriver()
        driver.match()
        #expect(driver.pushes == [Push(at: 0, count: 1)])
        #expect(driver.held.isEmpty)
    }

    @Test func singleEventDuringTheCooldownIsSentAsItselfAtItsEnd() {
        var driver = PaceDriver()
        driver.match()
        driver.go(to: 59.9)
        driver.match()
        driver.go(to: 1000)
        #expect(driver.pushes == [Push(at: 0, count: 1), Push(at: 60, count: 1)])
        #expect(driver.held == [.cooldown])
    }

    @Test func severalEventsDuringTheCooldownAreSentAsABatchAtItsEnd() {
        var driver = PaceDriver()
        for second in 0..<8 {
            driver.go(to: Double(second) * 7)
            driver.match()
        }
        driver.go(to: 1000)
        #expect(driver.pushes == [Push(at: 0, count: 1), Push(at: 60, count: 7)])
    }

    @Test func eachPushStartsACooldown() {
        var driver = PaceDriver()
        for second in [0, 10, 70, 130, 400] {
            driver.go(to: Double(second))
            driver.match()
        }
        driver.go(to: 1000)
        #expect(
            driver.pushes == [
                Push(at: 0, count: 1), Push(at: 60, count: 1), Push(at: 120, count: 1), Push(at: 180, count: 1),
                Push(at: 400, count: 1),
            ]
        )
    }

    @Test func fourthAndLaterEventsWaitForTheWindowsEnd() {
        var driver = PaceDriver(pace: Pace(cooldown: .seconds(5), window: .seconds(30)))
        for second in [0, 6, 12, 18, 19, 29] {
            driver.go(to: Double(second))
            driver.match()
        }
        driver.go(to: 1000)
        #expect(
            driver.pushes == [
                Push(at: 0, count: 1), Push(at: 6, count: 1), Push(at: 12, count: 1), Push(at: 30, count: 3),
            ]
        )
        #expect(driver.held == [.window, .window, .window])
    }

    @Test func theNextWindowBeginsWithTheNextMatch() {
        var driver = PaceDriver(pace: Pace(window: .seconds(30)))
        for second in [0, 1, 2, 3, 40, 41, 42, 43, 69] {
            driver.go(to: Double(second))
            driver.match()
        }
        driver.go(to: 1000)
        #expect(driver.pushes.map(\.at) == [0, 1, 2, 30, 40, 41, 42, 70])
        #expect(driver.pushes.map(\.count) == [1, 1, 1, 1, 1, 1, 1, 2])
    }

    @Test func eventHeldForWindowAndCooldownIsSentAfterBoth() {
        var driver = PaceDriver(pace: Pace(cooldown: .seconds(25), window: .seconds(30)))
        for second in [0, 1, 2, 3, 4] {
            driver.go(to: Double(second))
            driver.match()
        }
        driver.go(to: 1000)
        // Two waited only for the cooldown; their push starts another, which outlasts the window.
        #expect(driver.pushes == [Push(at: 0, count: 1), Push(at: 25, count: 2), Push(at: 50, count: 2)])
    }

    @Test func restOfAWindowDoesNotWaitForTheNextOne() {
        var driver = PaceDriver(pace: Pace(cooldown: .seconds(25), window: .seconds(30)))
        for second in [0, 1, 2, 3, 31, 32, 33, 34] {
            driver.go(to: Double(second))
            driver.match()
        }
        driver.go(to: 1000)
        // At 50 the first window's fourth is sent with three of the second, whose fourth waits for 61 and the cooldown.
        #expect(
            driver.pushes == [
                Push(at: 0, count: 1), Push(at: 25, count: 2), Push(at: 50, count: 4), Push(at: 75, count: 1),
            ]
        )
    }

    @Test func quietHoursHoldEverythingAndEndWithOnePush() throws {
        // The clock starts at 12:00.
        var driver = PaceDriver(pace: Pace(cooldown: .minutes(1), dailyCap: 100, quiet: try quiet("12:30", "14:00")))
        driver.match()
        for minute in [29.5, 30, 45, 80, 119] {
            driver.go(to: minute * 60)
            driver.match(minute == 45 ? .dm : .mention)
        }
        driver.go(to: 10_000)
        #expect(
            driver.pushes == [Push(at: 0, count: 1), Push(at: 1770, count: 1), Push(at: 7200, count: 4)]
        )
        #expect(driver.held == [.quiet, .quiet, .quiet, .quiet])
    }

    @Test func aCooldownThatReachesIntoQuietHoursEndsWithThem() throws {
        var driver = PaceDriver(pace: Pace(cooldown: .minutes(1), quiet: try quiet("12:30", "14:00", dm: true)))
        driver.go(to: 29.5 * 60)
        driver.match()
        driver.match()
        driver.match(.dm)
        driver.go(to: 10_000)
        #expect(
            driver.pushes == [Push(at: 1770, count: 1), Push(at: 1830, count: 1), Push(at: 7200, count: 1)]
        )
        #expect(driver.held == [.quiet, .cooldown])
    }

    @Test func directMessagesPassQuietHoursIfTheDeviceWishes() throws {
        var driver = PaceDriver(pace: Pace(cooldown: .minutes(1), quiet: try quiet("12:00", "14:00", dm: true)))
        driver.match()
        driver.match(.dm)
        driver.go(to: 30)
        driver.match(.dm)
        driver.match()
        driver.go(to: 10_000)
        #expect(
            driver.pushes == [Push(at: 0, count: 1), Push(at: 60, count: 1), Push(at: 7200, count: 2)]
        )
        #expect(driver.held == [.quiet, .cooldown, .quiet])
    }

    @Test func quietHoursDoNotAffectTheRestOfTheDay() throws {
        var driver = PaceDriver(pace: Pace(quiet: try quiet("12:30", "14:00")))
        for _ in 0..<5 { driver.match() }
        driver.go(to: 3600)
        for _ in 0..<5 { driver.match() }
        driver.go(to: 10_000)
        #expect(driver.pushes == Array(repeating: Push(at: 0, count: 1), count: 5) + [Push(at: 7200, count: 5)])
    }

    @Test func eventsBeyondTheCapWaitForTheNextDayAsOneBatch() {
        var driver = PaceDriver(pace: Pace(dailyCap: 3))
        for hour in 0..<12 {
            driver.go(to: Double(hour) * 3600)
            driver.match()
        }
        driver.go(to: 14 * 3600)
        driver.match()
        driver.go(to: 20 * 3600)
        // The clock started at noon: the next day starts after twelve hours.
        #expect(driver.pushes.map(\.at) == [0, 3600, 7200, 43_200, 50_400])
        #expect(driver.pushes.map(\.count) == [1, 1, 1, 9, 1])
        #expect(driver.held == Array(repeating: .cap, count: 9))
    }

    @Test func aCooldownOverMidnightBelongsToBothDays() {
        var driver = PaceDriver(pace: Pace(cooldown: .minutes(1), dailyCap: 1))
        driver.go(to: 43_170)
        driver.match()
        driver.go(to: 43_180)
        driver.match()
        driver.go(to: 43_300)
        driver.match()
        driver.go(to: 90_000)
        driver.go(to: 200_000)
        // The cap is over at midnight, the cooldown half a minute later.
        #expect(driver.pushes.map(\.at) == [43_170, 43_230, 129_600])
    }

    @Test func failedAttemptsAreNotCounted() {
        var driver = PaceDriver(pace: Pace(cooldown: .minutes(1), dailyCap: 1))
        driver.outcomes = [false, false, true]
        driver.match()
        driver.match()
        driver.go(to: 1)
        driver.match()
        driver.go(to: 2)
        driver.match()
        #expect(driver.pushes.map(\.at) == [0, 0, 1])
        #expect(driver.held == [.cap])
        driver.go(to: 43_200)
        #expect(driver.pushes.map(\.at) == [0, 0, 1, 43_200])
    }

    @Test func zeroDisablesALimit() {
        var driver = PaceDriver(pace: Pace())
        for _ in 0..<200 { driver.match() }
        #expect(driver.pushes == Array(repeating: Push(at: 0, count: 1), count: 200))
        #expect(driver.pacer.places.isEmpty)
    }

    @Test func deviceWithoutACooldownIgnoresTheLastOutcome() {
        var driver = PaceDriver(pace: Pace(dailyCap: 100))
        driver.latency = .milliseconds(300)
        for _ in 0..<5 { driver.match() }
        #expect(driver.pushes == Array(repeating: Push(at: 0, count: 1), count: 5))
        #expect(driver.held.isEmpty)
        // Nor does anything wait while its push service is down.
        driver.outcomes = Array(repeating: nil, count: 5)
        driver.go(to: 10)
        for _ in 0..<5 { driver.match() }
        #expect(driver.pushes.count == 10)
    }

    @Test func firstThreeEventsOfAWindowAreSentDespiteASlowService() {
        var driver = PaceDriver(pace: Pace(window: .seconds(30), dailyCap: 100))
        driver.latency = .milliseconds(300)
        for _ in 0..<5 { driver.match() }
        driver.go(to: 29)
        driver.match()
        driver.go(to: 100)
        #expect(
            driver.pushes == [
                Push(at: 0, count: 1), Push(at: 0, count: 1), Push(at: 0, count: 1), Push(at: 30, count: 3),
            ]
        )
        #expect(driver.held == [.window, .window, .window])
    }

    @Test func pushesInFlightCountTowardsTheCap() {
        var driver = PaceDriver(pace: Pace(dailyCap: 3))
        driver.latency = .milliseconds(300)
        for _ in 0..<5 { driver.match() }
        #expect(driver.held == [.cap, .cap])
        driver.go(to: 43_200)
        #expect(driver.pushes.map(\.count) == [1, 1, 1, 2])
    }

    @Test func lastFailedPushIsRefundedWithoutACooldown() {
        var driver = PaceDriver(pace: Pace(dailyCap: 2))
        driver.outcomes = [true, false]
        driver.latency = .milliseconds(300)
        driver.match()
        driver.match()
        driver.go(to: 1)
        driver.match()
        #expect(driver.pushes.map(\.at) == [0, 0, 1])
    }

    @Test func aCooldownBeginsWithTheEndOfAPush() {
        var driver = PaceDriver()
        driver.latency = .seconds(2)
        driver.match()
        driver.match()
        driver.go(to: 30)
        driver.match()
        driver.go(to: 1000)
        #expect(driver.pushes == [Push(at: 0, count: 1), Push(at: 62, count: 2)])
        #expect(driver.held == [.underWay, .cooldown])
    }

    @Test func eventThatExpiresWhileHeldSendsNoPush() {
        var driver = PaceDriver()
        driver.match()
        driver.match(expiresAt: PaceDriver.start + .seconds(30))
        driver.match(expiresAt: PaceDriver.start + .seconds(40))
        driver.go(to: 1000)
        #expect(driver.pushes == [Push(at: 0, count: 1)])
        #expect(driver.pacer.waitingDevices == 0)
    }

    @Test(arguments: [nil, .seconds(61)] as [Duration?])
    func aBatchExpiresWithTheLastOfItsMembers(lifetime: Duration?) {
        var driver = PaceDriver()
        driver.match()
        let last = lifetime.map { PaceDriver.start + $0 } ?? .epoch
        driver.match(expiresAt: last)
        driver.match(expiresAt: PaceDriver.start + .seconds(30))
        driver.match(expiresAt: last)
        driver.go(to: 1000)
        #expect(driver.pushes == [Push(at: 0, count: 1), Push(at: 60, count: 3)])
    }

    @Test func expiredEventIsNotCountedWithLaterOnes() {
        var driver = PaceDriver()
        driver.match()
        driver.match(expiresAt: PaceDriver.start + .seconds(30))
        driver.go(to: 40)
        driver.match()
        driver.go(to: 1000)
        #expect(driver.pushes == [Push(at: 0, count: 1), Push(at: 60, count: 1)])
    }

    @Test func whileAPushIsUnderWayFurtherMatchesAreHeld() {
        var driver = PaceDriver()
        driver.outcomes = [nil]
        driver.match()
        driver.go(to: 3)
        driver.match()
        driver.match()
        // Two hours of a push service that is down.
        driver.go(to: 7200)
        #expect(driver.pushes == [Push(at: 0, count: 1)])
        #expect(driver.held == [.underWay, .underWay])
        driver.end(isDelivered: true)
        driver.go(to: 7259)
        #expect(driver.pushes.count == 1)
        driver.go(to: 7260)
        #expect(driver.pushes.last == Push(at: 7260, count: 2))
    }

    @Test func eventBehindAFailedPushIsSentImmediately() {
        var driver = PaceDriver()
        driver.outcomes = [nil]
        driver.match()
        driver.go(to: 3)
        driver.match()
        driver.end(isDelivered: false)
        #expect(driver.pushes == [Push(at: 0, count: 1), Push(at: 3, count: 1)])
    }

    @Test func pushThatDoesNotEndDoesNotSilenceItsDevice() {
        var driver = PaceDriver(pace: Pace(cooldown: .minutes(1), dailyCap: 2))
        driver.outcomes = [nil, true, true]
        driver.match()
        driver.go(to: 3)
        driver.match()
        driver.match()
        driver.stopBlocking()
        driver.match()
        driver.go(to: 1000)
        driver.match()
        // It counts neither as one of the two nor for the cooldown.
        #expect(driver.pushes == [Push(at: 0, count: 1), Push(at: 3, count: 2), Push(at: 63, count: 1)])
        #expect(driver.held == [.underWay, .underWay, .cooldown, .cap])
    }

    @Test func consecutiveFailuresIndicateAnUnavailableService() {
        var driver = PaceDriver()
        driver.outcomes = Array(repeating: nil, count: 4) + [true, nil]
        driver.match()
        for _ in 0..<10 {
            driver.match()
            driver.stopBlocking()
        }
        #expect(driver.pushes == Array(repeating: Push(at: 0, count: 1), count: 4))
        driver.go(to: 100)
        // The driver no longer lists it, but the last one ends anyway.
        driver.pacer.end("1-3", of: DeviceID(rawValue: 1), counts: true, at: driver.now)
        driver.go(to: 160)
        #expect(driver.pushes.last == Push(at: 160, count: 7))
        driver.go(to: 1000)
        driver.match()
        driver.match()
        driver.stopBlocking()
        #expect(driver.pushes.suffix(2) == [Push(at: 1000, count: 1), Push(at: 1000, count: 1)])
    }

    @Test func devicesDoNotWaitForEachOther() {
        var driver = PaceDriver()
        driver.paces[2] = Pace(cooldown: .seconds(10))
        for device in [1, 2, 3] as [Int64] {
            driver.match(device: device)
            driver.match(device: device)
        }
        driver.go(to: 1000)
        #expect(driver.pushes.map(\.device) == [1, 2, 3, 2, 1, 3])
        #expect(driver.pushes.map(\.at) == [0, 0, 0, 10, 60, 60])
    }

    @Test func pacingRulesHoldForAWholeWeek() throws {
        let night = try quiet("23:00", "07:00", "UTC-03:30", dm: true)
        let pace = Pace(cooldown: .minutes(1), window: .seconds(30), dailyCap: 100, quiet: night)
        var driver = PaceDriver(pace: pace)
        var matches = 0
        var seed: UInt64 = 7
        var second = 0.0
        while second < 7 * 86_400 {
            driver.go(to: second)
            matches += 1
            driver.match(matches.isMultiple(of: 9) ? .dm : .mention)
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            second += Double(seed >> 33 % 97) / 2
        }
        driver.go(to: 9 * 86_400)
        #expect(matches > 20_000)
        #expect(driver.pushes.reduce(0) { $0 + Int($1.count) } == matches)
        for (push, next) in zip(driver.pushes, driver.pushes.dropFirst()) { #expect(next.at - push.at >= 60) }
        let days = Dictionary(grouping: driver.pushes) { (PaceDriver.start.seconds + $0.at) / 86_400 }
        #expect(days.values.allSatisfy { $0.count <= 100 })
        #expect(driver.pacer.waitingDevices == 0)
    }
}

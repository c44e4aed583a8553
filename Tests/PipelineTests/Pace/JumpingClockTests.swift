import Core
import Registry
import Testing

@testable import Pipeline

/// No push ever waits longer than the device's own settings ask for, whatever the clock does.
@Suite struct JumpingClockTests {
    private typealias Push = PaceDriver.Push

    @Test(arguments: [-10.5, -3600, -86_400, -40_000_000] as [Double])
    func clockThatGoesBackDoesNotExtendTheCooldown(jump: Double) {
        var driver = PaceDriver()
        driver.match()
        driver.go(to: 10)
        driver.match()
        driver.setClock(to: 10 + jump)
        driver.go(to: 10 + jump + 59)
        #expect(driver.pushes.count == 1)
        driver.go(to: 10 + jump + 60)
        #expect(driver.pushes.map(\.count) == [1, 1])
    }

    @Test func smallClockStepMovesNoTimer() {
        var driver = PaceDriver()
        driver.match()
        driver.go(to: 10)
        driver.match()
        driver.setClock(to: 9.5)
        driver.go(to: 60)
        #expect(driver.pushes.map(\.at) == [0, 60])
    }

    @Test func clockThatJumpsAheadReleasesDueDevices() {
        var driver = PaceDriver()
        driver.match()
        driver.match()
        driver.setClock(to: 61)
        #expect(driver.pushes == [Push(at: 0, count: 1), Push(at: 61, count: 1)])
    }

    @Test func windowInTheFutureStartsNow() {
        var driver = PaceDriver(pace: Pace(window: .seconds(30)))
        for _ in 0..<4 { driver.match() }
        driver.setClock(to: -1000)
        driver.go(to: -971)
        #expect(driver.pushes.count == 3)
        driver.go(to: -970)
        #expect(driver.pushes.map(\.at) == [0, 0, 0, -970])
    }

    @Test func dayInTheFutureBecomesTodayWithItsCount() {
        var driver = PaceDriver(pace: Pace(dailyCap: 2))
        driver.setClock(to: 50_000)
        driver.match()
        driver.match()
        // A day back, to noon of the day before.
        driver.setClock(to: 0)
        driver.match()
        #expect(driver.held == [.cap])
        driver.go(to: 43_199)
        #expect(driver.pushes.count == 2)
        driver.go(to: 43_200)
        #expect(driver.pushes.last == Push(at: 43_200, count: 1))
    }

    @Test func failureAfterAJumpBackOverMidnightIsRefunded() {
        var driver = PaceDriver(pace: Pace(dailyCap: 1))
        driver.outcomes = [nil]
        driver.setClock(to: 43_300)
        driver.match()
        driver.setClock(to: 43_000)
        driver.match()
        driver.end(isDelivered: false)
        #expect(driver.pushes.map(\.at) == [43_300, 43_000])
    }

    @Test func quietHoursFollowTheClock() throws {
        let quiet = QuietHours(
            start: try #require(TimeOfDay("12:30")),
            end: try #require(TimeOfDay("14:00")),
            offset: try #require(UTCOffset("Z"))
        )
        var driver = PaceDriver(pace: Pace(cooldown: .seconds(1), quiet: quiet))
        driver.go(to: 3600)
        driver.match()
        driver.setClock(to: 600)
        #expect(driver.pushes == [Push(at: 600, count: 1)])
    }
}

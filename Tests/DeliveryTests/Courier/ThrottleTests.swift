import Core
import Testing
import TimeTestSupport

@testable import Delivery

struct ThrottleTests {
    private let fresh = Throttle.service(
        Pause.Length(first: .seconds(5), longest: .minutes(15)),
        longestAsked: .minutes(15)
    )

    @Test func requestedPauseIsHonouredUpToTheLongest() {
        var short = fresh
        #expect(short.pause(asked: .minutes(1), now: 1_000) == 61_000)
        #expect(short.allowance(of: 500, now: 60_999) == 0)
        #expect(short.allowance(of: 500, now: 61_000) == 4)
        var day = fresh
        #expect(day.pause(asked: .days(1), now: 0) == 900_000)
    }

    @Test func attemptBeforeThePauseCanOnlyExtendIt() {
        var pause = fresh
        #expect(pause.pause(asked: .zero, now: 0) == 5_000)
        #expect(pause.pause(asked: .zero, now: 1) == nil)
        #expect(pause.pausedUntil == 5_000)
        #expect(pause.pause(asked: .seconds(2), now: 2) == nil)
        #expect(pause.pausedUntil == 5_000)
        #expect(pause.pause(asked: .minutes(1), now: 3) == nil)
        #expect(pause.pausedUntil == 60_003)
    }

    @Test func everySuccessAllowsOneMore() {
        var pause = fresh
        _ = pause.pause(asked: .zero, now: 0)
        #expect(pause.succeed(limit: 7) == false)
        #expect(pause.allowance(of: 7, now: 5_000) == 4)
        #expect(pause.succeed(limit: 7) == true)
        #expect(pause.allowance(of: 7, now: 5_000) == 5)
        #expect(pause.succeed(limit: 7) == false)
        #expect(pause.succeed(limit: 7) == false)
        #expect(pause.phase == .open)
        #expect(pause.allowance(of: 7, now: 5_000) == 7)
    }

    @Test func pausesGrowUntilTheLimitIsLifted() {
        var pause = fresh
        var now: Timestamp = 0
        for seconds in [5, 10, 20, 40] {
            #expect(pause.pause(asked: .zero, now: now) == now + .seconds(seconds))
            now += .seconds(seconds)
            #expect(pause.allowance(of: 6, now: now) == 4)
            _ = pause.succeed(limit: 6)
        }
        _ = pause.succeed(limit: 6)
        #expect(pause.pause(asked: .zero, now: now) == now + .seconds(5))
    }

    @Test func aClockThatIsSetBackStopsNoPause() {
        var pause = fresh
        _ = pause.pause(asked: .zero, now: .epoch + .days(365))
        #expect(pause.allowance(of: 500, now: 0) == 4)
    }

    @Test func throttleWorksWithFewSlots() {
        var pause = fresh
        _ = pause.pause(asked: .zero, now: 0)
        #expect(pause.allowance(of: 2, now: 5_000) == 2)
        #expect(pause.succeed(limit: 2) == true)
        #expect(pause.phase == .open)
    }
}

struct PauseTests {
    @Test func pausesDoubleUpToTheLongest() {
        var pause = Pause.Length(first: .seconds(5), longest: .minutes(15))
        let lengths = (0..<10).map { _ in pause.next() }
        #expect(lengths == [5, 10, 20, 40, 80, 160, 320, 640, 900, 900].map { .seconds($0) })
        pause.reset()
        #expect(pause.next() == .seconds(5))
    }

    @Test func firstPauseIsAtMostTheLongest() {
        var pause = Pause.Length(first: .seconds(5), longest: .milliseconds(100))
        #expect(pause.next() == .milliseconds(100))
        #expect(pause.next() == .milliseconds(100))
    }
}

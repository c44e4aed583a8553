import Testing

@testable import Delivery

struct ThrottleTests {
    private let fresh = Throttle.service(Pause.Length(first: 5_000, longest: 900_000), longestAsked: 900_000)

    @Test func aServiceIsObeyedAndNotLongerThanTheLongest() {
        var short = fresh
        #expect(short.pause(asked: 60_000, now: 1_000) == 61_000)
        #expect(short.allowance(of: 500, now: 60_999) == 0)
        #expect(short.allowance(of: 500, now: 61_000) == 4)
        var day = fresh
        #expect(day.pause(asked: 86_400_000, now: 0) == 900_000)
    }

    @Test func whatBeganBeforeThePauseOnlyMakesItLonger() {
        var pause = fresh
        #expect(pause.pause(asked: 0, now: 0) == 5_000)
        #expect(pause.pause(asked: 0, now: 1) == nil)
        #expect(pause.state == .paused(until: 5_000))
        #expect(pause.pause(asked: 2_000, now: 2) == nil)
        #expect(pause.state == .paused(until: 5_000))
        #expect(pause.pause(asked: 60_000, now: 3) == nil)
        #expect(pause.state == .paused(until: 60_003))
    }

    @Test func eachSuccessMakesRoomForOneMore() {
        var pause = fresh
        _ = pause.pause(asked: 0, now: 0)
        #expect(pause.succeed(limit: 7) == false)
        #expect(pause.allowance(of: 7, now: 5_000) == 4)
        #expect(pause.succeed(limit: 7) == true)
        #expect(pause.allowance(of: 7, now: 5_000) == 5)
        #expect(pause.succeed(limit: 7) == false)
        #expect(pause.succeed(limit: 7) == false)
        #expect(pause.state == .open)
        #expect(pause.allowance(of: 7, now: 5_000) == 7)
    }

    @Test func pausesGrowUntilAllMayGoOutAgain() {
        var pause = fresh
        var now: Int64 = 0
        for seconds in [5, 10, 20, 40] as [Int64] {
            #expect(pause.pause(asked: 0, now: now) == now + seconds * 1_000)
            now += seconds * 1_000
            #expect(pause.allowance(of: 6, now: now) == 4)
            _ = pause.succeed(limit: 6)
        }
        _ = pause.succeed(limit: 6)
        #expect(pause.pause(asked: 0, now: now) == now + 5_000)
    }

    @Test func aClockThatIsSetBackStopsNoPause() {
        var pause = fresh
        _ = pause.pause(asked: 0, now: 365 * 86_400_000)
        #expect(pause.allowance(of: 500, now: 0) == 4)
    }

    @Test func fewerPlacesThanAFewAreEnough() {
        var pause = fresh
        _ = pause.pause(asked: 0, now: 0)
        #expect(pause.allowance(of: 2, now: 5_000) == 2)
        #expect(pause.succeed(limit: 2) == true)
        #expect(pause.state == .open)
    }
}

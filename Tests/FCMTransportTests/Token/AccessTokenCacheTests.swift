import Core
import PluginKit
import Testing
import TimeTestSupport

@testable import FCMTransport

struct AccessTokenCacheTests {
    private static let hour: Timestamp = 3_600_000
    private static let grant = AccessGrant(authorization: "Bearer a", lifetime: .hours(1))
    private var cache = AccessTokenCache<Int>()

    /// Returns the waiter's result as a short string.
    private mutating func ask(_ waiter: Int, now: Timestamp) -> (String, mustRequest: Bool) {
        let (reply, mustRequest) = cache.ask(waiter, now: now)
        let word =
            switch reply {
            case .use(let token): token.authorization
            case .wait: "wait"
            case .full: "full"
            case .failed(let outcome): "\(outcome.reason) \(outcome.retryAfter.milliseconds)"
            }
        return (word, mustRequest)
    }

    @Test mutating func theFirstRequestsATokenAndAllOthersWaitForIt() {
        #expect(ask(1, now: 0) == ("wait", true))
        #expect(ask(2, now: 1) == ("wait", false))
        #expect(ask(3, now: 2) == ("wait", false))
        let (token, waiters) = cache.granted(Self.grant, askedAt: 0)
        #expect(token.authorization == "Bearer a")
        #expect(waiters == [1, 2, 3])
        #expect(ask(4, now: 3) == ("Bearer a", false))
    }

    @Test mutating func renewsFiveMinutesBeforeTheEndWhileTheOldOneServes() {
        _ = ask(1, now: 0)
        _ = cache.granted(Self.grant, askedAt: 0)
        #expect(ask(2, now: Self.hour - .milliseconds(300_001)) == ("Bearer a", false))
        #expect(ask(3, now: Self.hour - .milliseconds(300_000)) == ("Bearer a", true))
        #expect(ask(4, now: Self.hour - .milliseconds(1)) == ("Bearer a", false))
        #expect(ask(5, now: Self.hour) == ("wait", false))
        let new = AccessGrant(authorization: "Bearer b", lifetime: .hours(1))
        #expect(cache.granted(new, askedAt: Self.hour - .milliseconds(300_000)).waiters == [5])
        #expect(ask(6, now: Self.hour) == ("Bearer b", false))
    }

    @Test mutating func aShortLivedTokenIsRenewedAfterHalfItsLife() {
        _ = ask(1, now: 0)
        _ = cache.granted(AccessGrant(authorization: "Bearer a", lifetime: .minutes(1)), askedAt: 0)
        #expect(ask(2, now: 29_999) == ("Bearer a", false))
        #expect(ask(3, now: 30_000) == ("Bearer a", true))
    }

    @Test mutating func refusedTokenIsNotReusedAndAStaleResponseChangesNothing() {
        _ = ask(1, now: 0)
        let first = cache.granted(Self.grant, askedAt: 0).token
        cache.discard(generation: first.generation)
        #expect(ask(2, now: 1) == ("wait", true))
        let second = cache.granted(AccessGrant(authorization: "Bearer b", lifetime: .hours(1)), askedAt: 1).token
        cache.discard(generation: first.generation)
        #expect(ask(3, now: 2) == ("Bearer b", false))
        #expect(second.generation > first.generation)
    }

    @Test mutating func failurePausesGrowUntilATokenArrives() {
        var now: Timestamp = 0
        for pause in [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 64_000] {
            #expect(ask(1, now: now) == ("wait", true))
            #expect(ask(2, now: now) == ("wait", false))
            #expect(cache.failed(Outcome(.retry, reason: "timeout"), now: now) == [1, 2])
            #expect(ask(3, now: now + .milliseconds(pause - 1)) == ("timeout 1", false))
            now += .milliseconds(pause)
        }
        #expect(ask(4, now: now) == ("wait", true))
        _ = cache.granted(Self.grant, askedAt: now)
        now += .hours(1)
        _ = ask(5, now: now)
        _ = cache.failed(Outcome(.retry, reason: "timeout"), now: now)
        #expect(ask(6, now: now) == ("timeout 1000", false))
    }

    @Test mutating func retryAfterIsHonouredUpToAnHour() {
        _ = ask(1, now: 0)
        _ = cache.failed(Outcome(.retry, retryAfter: .seconds(90), reason: "busy"), now: 0)
        #expect(ask(2, now: 89_999) == ("busy 1", false))
        #expect(ask(3, now: 90_000) == ("wait", true))
        _ = cache.failed(Outcome(.retry, retryAfter: .days(49), reason: "busy"), now: 90_000)
        #expect(ask(4, now: Self.hour + .milliseconds(89_999)) == ("busy 1", false))
        #expect(ask(5, now: Self.hour + .seconds(90)) == ("wait", true))
    }

    @Test mutating func badAccountFailsAllDeliveriesAndIsRetriedLater() {
        _ = ask(1, now: 0)
        #expect(cache.failed(Outcome(.misconfigured, reason: "invalid-grant"), now: 0) == [1])
        #expect(ask(2, now: 999) == ("invalid-grant 0", false))
        #expect(ask(3, now: 1000) == ("wait", true))
    }

    @Test mutating func failedRenewalKeepsTheOldToken() {
        _ = ask(1, now: 0)
        _ = cache.granted(Self.grant, askedAt: 0)
        let late = Self.hour - .milliseconds(200_000)
        #expect(ask(2, now: late) == ("Bearer a", true))
        #expect(cache.failed(Outcome(.retry, reason: "timeout"), now: late) == [])
        #expect(ask(3, now: late + .milliseconds(999)) == ("Bearer a", false))
        #expect(ask(4, now: late + .seconds(1)) == ("Bearer a", true))
    }

    @Test mutating func aClockSetBackEndsThePause() {
        _ = ask(1, now: Self.hour + .hours(9))
        _ = cache.failed(Outcome(.retry, reason: "timeout"), now: Self.hour + .hours(9))
        #expect(ask(2, now: 0) == ("wait", true))
    }

    @Test mutating func waitingDeliveriesAreLimited() {
        for waiter in 0..<AccessTokenCache<Int>.waiterLimit {
            #expect(ask(waiter, now: 0).0 == "wait")
        }
        #expect(ask(-1, now: 0) == ("full", false))
        #expect(cache.withdraw { $0 == 7 } == 7)
        #expect(cache.withdraw { $0 == 7 } == nil)
        #expect(ask(-2, now: 0) == ("wait", false))
        let waiters = cache.granted(Self.grant, askedAt: 0).waiters
        #expect(waiters.count == AccessTokenCache<Int>.waiterLimit)
        #expect(waiters.last == -2)
    }
}

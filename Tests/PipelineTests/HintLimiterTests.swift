import Nostr
import Testing
import TimeTestSupport
import Units

@testable import Pipeline

@Suite struct HintLimiterTests {
    private let partner = PublicKey(Bytes32(words: (1, 1, 1, 1)))
    private let account = PublicKey(Bytes32(words: (2, 2, 2, 2)))
    private let other = PublicKey(Bytes32(words: (3, 3, 3, 3)))

    private func limiter(pairs: Int = 10) -> HintLimiter {
        HintLimiter(limits: HintLimiter.Limits(tolerance: .minutes(10), burst: 3, interval: .seconds(1), pairs: pairs))
    }

    /// What the limiter says to hints of a pair, one after the other.
    private func says(
        _ limiter: inout HintLimiter,
        _ partner: PublicKey,
        _ account: PublicKey,
        at times: Timestamp...
    ) -> [Bool] {
        times.map { limiter.admits(partner, for: account, at: $0) }
    }

    @Test func aHintIsFreshForTenMinutesBothWays() {
        let limiter = limiter()
        let dates: [Int64] = [999_399, 999_400, 1_000_600, 1_000_601]
        #expect(dates.map { limiter.isFresh($0, at: 1_000_000_999) } == [false, true, true, false])
    }

    @Test func aBurstPassesAndThenOneAnInterval() {
        var limiter = limiter()
        let first = says(&limiter, partner, account, at: 0, 0, 0, 0, 999, 1000, 1000)
        #expect(first == [true, true, true, false, false, true, false])
        let afterAPause = says(&limiter, partner, account, at: 9000, 9000, 9000, 9000)
        #expect(afterAPause == [true, true, true, false])
    }

    @Test func everyPairHasABurstOfItsOwn() {
        var limiter = limiter()
        _ = says(&limiter, partner, account, at: 0, 0, 0, 0)
        let others = says(&limiter, partner, other, at: 0) + says(&limiter, other, account, at: 0)
        #expect(others == [true, true])
    }

    @Test func memoryIsBoundedAndFreesItself() {
        var limiter = limiter(pairs: 1)
        let all = says(&limiter, partner, account, at: 0) + says(&limiter, other, account, at: 500, 1000)
        #expect(all == [true, false, true])
    }

    @Test func aClockThatWasPutBackLocksNobodyOut() {
        var limiter = limiter()
        let all = says(&limiter, partner, account, at: 1_000_000, 1_000_000, 1_000_000, 0)
        #expect(all == [true, true, true, true])
    }

    @Test func theLargestDatesAreNoTrap() {
        let limiter = limiter()
        #expect(!limiter.isFresh(.max, at: 1_000_000))
        #expect(!limiter.isFresh(.min, at: 1_000_000))
    }
}

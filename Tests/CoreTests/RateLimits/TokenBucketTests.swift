import Core
import Testing
import TimeTestSupport

@Suite struct TokenBucketTests {
    private var bucket = TokenBucket(capacity: 3, perSecond: 2, now: 0)

    @Test mutating func aBurstPassesAndThenASteadyRate() {
        let passing = [0, 0, 0, 0, 499, 500, 500, 1_000, 100_000].map { bucket.take(at: $0) }
        #expect(passing == [true, true, true, false, false, true, false, true, true])
        let all = (bucket.take(3, at: 100_000), bucket.take(3, at: 100_500), bucket.take(3, at: 101_000))
        #expect(all == (false, true, false))
    }

    @Test mutating func clockThatJumpsBackDoesNotBlockForLong() {
        let now: Timestamp = 1_773_446_400_000
        let before = (0..<4).map { _ in bucket.take(at: now) }
        #expect(before == [true, true, true, false])
        let past = now - .days(1)
        let after = [0, 500, 1_000].map { bucket.take(at: past + .milliseconds($0)) }
        #expect(after == [false, true, true])
    }

    @Test mutating func nextAllowedTimeIsReported() {
        #expect(bucket.next(after: 7) == 7)
        bucket.empty(at: 1_000)
        #expect(bucket.next(after: 1_000) == 1_500)
        #expect(bucket.next(after: 1_250) == 1_500)
        let passes = (bucket.take(at: 1_499), bucket.take(at: 1_500))
        #expect(passes == (false, true))
    }

    @Test mutating func theTimeSinceTheLastTakingCountsAtTheNewRate() {
        bucket.empty(at: 0)
        bucket.perSecond = 1
        bucket.capacity = 1
        let passing = [500, 1_000, 5_000, 5_000].map { bucket.take(at: $0) }
        #expect(passing == [false, true, true, false])
        bucket.fill(at: 6_000)
        bucket.perSecond = 2
        bucket.capacity = 3
        let faster = [6_000, 6_000, 6_500].map { bucket.take(at: $0) }
        #expect(faster == [true, false, true])
    }
}

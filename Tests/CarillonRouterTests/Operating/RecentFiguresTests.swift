import Console
import Core
import Testing
import TimeTestSupport

@testable import Operations

@Suite struct RecentFiguresTests {
    private let start = Deadline(milliseconds: 1_000_000)

    private func totals(_ events: UInt64, pushes: UInt64 = 0, ends: [Double] = []) -> RecentFigures.Totals {
        var totals = RecentFigures.Totals(events: events, pushes: pushes)
        for end in ends { totals.ends.observe(end) }
        return totals
    }

    @Test func rateOfANewRouterIsMeasuredFromItsStart() {
        let recent = RecentFigures(start: start)
        let rates = recent.rates(totals(100, pushes: 50, ends: [0.01, 0.02]), now: start + .seconds(10))
        #expect(rates.eventsPerSecond == 10 && rates.pushesPerSecond == 5)
        #expect(rates.median != nil)
    }

    @Test func onlyTheLastMinuteCounts() {
        var recent = RecentFigures(start: start)
        for step in 1...30 {
            let now = start + .seconds(Int64(step) * 10)
            #expect(recent.wants(now: now))
            recent.take(totals(UInt64(step) * 1_000, ends: [5]), now: now)
            #expect(!recent.wants(now: now + .seconds(9)))
        }
        let rates = recent.rates(totals(30_600, ends: [5]), now: start + .seconds(300))
        #expect(rates.eventsPerSecond == 110)
        #expect(rates.median == nil, "what ended before is not of the last minute")
    }

    @Test func rateAfterLongSilenceIsZero() {
        var recent = RecentFigures(start: start)
        recent.take(totals(1_000), now: start + .seconds(10))
        let rates = recent.rates(totals(1_000), now: start + .hours(2))
        #expect(rates.eventsPerSecond == 0)
    }
}

@Suite struct QuantileTests {
    @Test func quantilesLieInTheirBuckets() {
        var histogram = Histogram(bounds: [1, 2, 4])
        #expect(histogram.quantile(0.5) == nil)
        for value in [0.5, 1.5, 1.5, 3] { histogram.observe(value) }
        #expect(histogram.quantile(0.25) == 1)
        #expect(histogram.quantile(0.5) == 1.5)
        #expect(histogram.quantile(1) == 4)
        histogram.observe(100, times: 100)
        #expect(histogram.quantile(0.99) == 4, "the last bucket has no end")
    }

    @Test func histogramSinceAPointIsTheDifference() {
        var earlier = Histogram(bounds: [1])
        earlier.observe(0.5)
        var later = earlier
        later.observe(2)
        let since = later.subtracting(earlier)
        #expect(since.counts == [0, 1] && since.sum == 2)
        var sum = since
        sum.add(earlier)
        #expect(sum == later)
    }
}

import Console
import Units

/// What the last minute brought, from counters that only grow. Pure: whoever counts hands the totals in now and then.
struct RecentFigures: Sendable {
    /// Everything counted since the start.
    struct Totals: Sendable, Equatable {
        var events: UInt64 = 0
        /// Deliveries that a push service accepted.
        var pushes: UInt64 = 0
        /// From acceptance to the end of deliveries, in seconds.
        var ends = Histogram.seconds
    }

    /// What came in a span of time.
    struct Rates: Sendable, Equatable {
        var eventsPerSecond = 0.0
        var pushesPerSecond = 0.0
        /// Nil: no delivery ended.
        var median: Duration?
        var slowest: Duration?
    }

    private struct Sample: Sendable {
        let at: Deadline
        let totals: Totals
    }

    private static let span: Duration = .minutes(1)
    private static let step: Duration = .seconds(10)

    /// Oldest first, a step apart; the first is at least a span old, or the start.
    private var samples: [Sample]

    init(start: Deadline) {
        samples = [Sample(at: start, totals: Totals())]
    }

    /// Whether it is time to hand in totals.
    func wants(now: Deadline) -> Bool { samples.last.map { now - $0.at >= Self.step } ?? true }

    mutating func take(_ totals: Totals, now: Deadline) {
        samples.append(Sample(at: now, totals: totals))
        while samples.count > 1, now - samples[1].at >= Self.span { samples.removeFirst() }
    }

    /// What came in about a minute before `now`, or since the start where that is less.
    func rates(_ totals: Totals, now: Deadline) -> Rates {
        // With no news for long the last sample is the nearest to a minute ago.
        let first = samples.last { now - $0.at >= Self.span } ?? samples[0]
        let seconds = max((now - first.at) / .seconds(1), 0.001)
        let ends = totals.ends.subtracting(first.totals.ends)
        return Rates(
            eventsPerSecond: Double(totals.events &- first.totals.events) / seconds,
            pushesPerSecond: Double(totals.pushes &- first.totals.pushes) / seconds,
            median: ends.quantile(0.5).map { .milliseconds(Int64($0 * 1000)) },
            slowest: ends.quantile(0.99).map { .milliseconds(Int64($0 * 1000)) }
        )
    }
}

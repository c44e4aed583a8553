import Units

/// Which origins get requests so often that HTTP/2 connections of our own pay, although no plugin says so: a request
/// over one of these takes a tenth of libcurl's processor time. Knows no clock.
///
/// Users choose origins, so it remembers a bounded number, each for a minute at most.
struct BusyOrigins {
    private let often: Int
    private let limit: Int
    private var counts: [Origin: Int] = [:]
    /// Those that were busy in the last period.
    private var former: Set<Origin> = []
    private var end: Deadline = .distantPast

    /// An origin is busy from so many requests in half a minute on. At most `limit` are counted at a time.
    init(often: Int = 3, limit: Int = 8_192) {
        self.often = often
        self.limit = limit
    }

    /// Counts a request. Returns whether its origin is busy.
    mutating func note(_ origin: Origin, now: Deadline) -> Bool {
        if now >= end { begin(now: now) }
        guard let count = counts[origin] else {
            if counts.count < limit { counts[origin] = 1 }
            return former.contains(origin)
        }
        if count < often { counts[origin] = count + 1 }
        return count + 1 >= often || former.contains(origin)
    }

    private mutating func begin(now: Deadline) {
        // After a pause nothing of before counts.
        former = now < end + Self.period ? Set(counts.lazy.filter { [often] in $0.value >= often }.map(\.key)) : []
        counts.removeAll(keepingCapacity: true)
        end = now + Self.period
    }

    private static let period: Duration = .seconds(30)
}

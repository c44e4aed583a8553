import Delivery

/// Reports of deliveries that did not go through, gathered where they repeat: a server that refuses everything is not
/// to fill the log.
///
/// Of each sort the first few of a minute are told in full, and how many more there were once a minute.
struct ReportTally: Sendable {
    struct Sort: Hashable, Sendable {
        var queue: QueueName
        var kind: DeliveryReport.Kind
        var status: UInt32
        var reason: String
    }

    private struct Count: Sendable {
        var since: Int64
        var told = 0
        var untold = 0
    }

    /// In milliseconds.
    static let interval: Int64 = 60_000
    private static let toldInFull = 5
    /// Words of plugins should be few.
    private static let mostSorts = 500

    private var counts: [Sort: Count] = [:]

    /// Whether there is something that ``takeDue(now:)`` may have to tell later.
    var isEmpty: Bool { counts.isEmpty }

    /// Whether a report of the time `now`, in milliseconds since 1970, is told in full.
    mutating func add(_ report: DeliveryReport, now: Int64) -> Bool {
        var sort = Sort(queue: report.queue, kind: report.kind, status: report.status, reason: report.reason)
        if counts[sort] == nil, counts.count >= Self.mostSorts { (sort.status, sort.reason) = (0, "other") }
        var count = counts[sort] ?? Count(since: now)
        defer { counts[sort] = count }
        guard count.told >= Self.toldInFull else {
            count.told += 1
            return true
        }
        count.untold += 1
        return false
    }

    /// How many more there were of each sort whose minute is over by `now`, in milliseconds since 1970.
    mutating func takeDue(now: Int64) -> [Sort: Int] {
        // A clock that jumped back is no reason to be silent until it is there again.
        let due = counts.filter { now < $0.value.since || now - $0.value.since >= Self.interval }
        for (sort, count) in due {
            // As long as it goes on it is one line a minute.
            counts[sort] = count.untold > 0 ? Count(since: now, told: count.told) : nil
        }
        return due.mapValues(\.untold).filter { $0.value > 0 }
    }
}

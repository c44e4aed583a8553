import Units

/// Notices that a process takes more processor time than it may, on average over ten seconds. Pure.
package struct ProcessorMeter: Sendable {
    private static var window: Duration { .seconds(10) }

    /// The most of one core; nil: no limit.
    private let limit: Double?
    private var samples: [(at: Deadline, used: Duration)] = []

    package init(limit: Double?) { self.limit = limit }

    /// The process has `used` so much processor time up to `now`. True: it is too much.
    package mutating func isExceeded(used: Duration, now: Deadline) -> Bool {
        guard let limit else { return false }
        if let last = samples.last, now - last.at < Self.window / 20 { return false }
        samples.append((now, used))
        // The newest sample that is old enough is where the average begins.
        while samples.count > 1, now - samples[1].at >= Self.window { samples.removeFirst() }
        let first = samples[0]
        guard now - first.at >= Self.window else { return false }
        return used - first.used > (now - first.at) * limit
    }
}

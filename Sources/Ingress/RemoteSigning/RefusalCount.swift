/// Counts what is not answered and says now and then that it is time for a line in the log, however long a flood is.
struct RefusalCount {
    private static let interval: Int64 = 60_000

    private var counts: [String: Int] = [:]
    private var saidAt: Int64?

    /// Counts one. Returns the counts since the last line when one is due at `now`, in milliseconds.
    mutating func add(_ reason: String, now: Int64) -> [String: Int]? {
        counts[reason, default: 0] += 1
        if let saidAt, now - saidAt < Self.interval, now >= saidAt { return nil }
        saidAt = now
        defer { counts = [:] }
        return counts
    }
}

import Pipeline

/// How many events were refused why, told once a minute for each reason: whoever floods us is not to flood the log.
struct RefusalTally: Sendable {
    /// Between two lines that name the same reason, in milliseconds.
    private static let pause: Int64 = 60_000
    private static let refusals: Set<PipelineStep> = [.malformed, .forged, .registrationRefused, .notKept]

    private var untold: [PipelineStep: Int] = [:]
    private var toldAt: [PipelineStep: Int64] = [:]

    /// Adds what became of a batch at `now`, in milliseconds since 1970, and returns what to tell: of each reason how many events
    /// there were since it was told last.
    mutating func add(_ counts: [PipelineStep: Int], now: Int64) -> [PipelineStep: Int] {
        for (step, count) in counts where Self.refusals.contains(step) { untold[step, default: 0] += count }
        guard !untold.isEmpty else { return [:] }
        // A clock that jumped back is no reason to be silent until it is there again.
        let due = untold.filter { step, _ in toldAt[step].map { now < $0 || now - $0 >= Self.pause } ?? true }
        for step in due.keys {
            untold[step] = nil
            toldAt[step] = now
        }
        return due
    }
}

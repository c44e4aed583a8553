/// Why a delivery was made of what had been held, where the trace says elsewhere by which rule.
enum QueuedReason {
    static let held = "held before"
    /// The number of its events follows.
    static let batch = "batch of "
    /// How many there were follows.
    static let latest = "latest of "

    static func size(_ count: Int, isLatest: Bool) -> String {
        count > 1 ? (isLatest ? latest : batch) + "\(count)" : ""
    }
}

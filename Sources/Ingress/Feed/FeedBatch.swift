/// Events that are handed over together.
struct FeedBatch: Sendable, Equatable {
    /// The bytes of one JSON object each.
    var events: [[UInt8]] = []
    /// The line that each came in.
    var lines: [Int] = []
    var bytes = 0

    var isEmpty: Bool { events.isEmpty }

    mutating func append(_ event: [UInt8], line: Int) {
        events.append(event)
        lines.append(line)
        bytes += event.count
    }
}

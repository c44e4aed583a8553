import DequeModule
import Units

/// What is asked for over the API and waits behind events. Taken a part at a time, so that an event that comes
/// meanwhile waits for one part only.
struct RequestBacklog {
    /// Events that are taken at a time, if the first submission has not more.
    private static let part = 64

    private var waiting: Deque<Submission> = []
    /// Since when the first of them waits for its turn.
    private var since: Deadline?
    private(set) var events = 0
    private(set) var bytes = 0

    mutating func add(_ submission: Submission, at time: Deadline) {
        if waiting.isEmpty { since = time }
        waiting.append(submission)
        events += submission.events.count
        bytes += submission.size
    }

    /// Whether others have gone first for that long.
    func isOverdue(at time: Deadline, _ longest: Duration) -> Bool { since.map { time - $0 >= longest } ?? false }

    /// Takes out a part.
    mutating func take(at time: Deadline) -> [Submission] {
        var (count, taken) = (0, 0)
        while taken < waiting.count, count == 0 || count + waiting[taken].events.count <= Self.part {
            count += waiting[taken].events.count
            bytes -= waiting[taken].size
            taken += 1
        }
        defer { waiting.removeFirst(taken) }
        events -= count
        since = taken < waiting.count ? time : nil
        return Array(waiting.prefix(taken))
    }

    mutating func takeAll() -> [Submission] {
        defer { self = RequestBacklog() }
        return Array(waiting)
    }
}

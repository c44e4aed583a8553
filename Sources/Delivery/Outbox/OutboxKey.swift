import Units

/// A delivery's place in the outbox: its queue's number and, below it, the order of acceptance.
///
/// Both share one integer, which is SQLite's rowid: the rows of a queue lie together on disk and in order, so that a
/// page of one queue never reads through another's rows, and no index is needed for it.
package struct OutboxKey: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64

    private static let sequenceBits: Int64 = 44
    static let largestSequence: Int64 = 1 << sequenceBits - 1

    /// Numbers of queues lie in `1...largestQueue`.
    package static let largestQueue = 1 << 18

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// `sequence` rises with every delivery accepted, whatever its queue, except that those which are accepted together
    /// are numbered queue by queue.
    package init(queue: Int, sequence: Int64) {
        self.rawValue = Int64(queue) << Self.sequenceBits | sequence
    }

    package var queue: Int { Int(rawValue >> Self.sequenceBits) }

    package var sequence: Int64 { rawValue & Self.largestSequence }

    /// Lies below every delivery of that queue.
    static func lowest(of queue: Int) -> OutboxKey { OutboxKey(queue: queue, sequence: 0) }

    /// Lies above every delivery of that queue.
    static func highest(of queue: Int) -> OutboxKey { OutboxKey(queue: queue, sequence: largestSequence) }

    package static func < (left: OutboxKey, right: OutboxKey) -> Bool { left.rawValue < right.rawValue }
}

/// A delivery's position among those that wait for a further attempt: by due time, then by acceptance.
package struct RetryPlace: Hashable, Comparable, Sendable {
    package var due: Timestamp
    package var key: OutboxKey

    package init(due: Timestamp, key: OutboxKey) {
        self.due = due
        self.key = key
    }

    package static func < (left: RetryPlace, right: RetryPlace) -> Bool {
        (left.due, left.key) < (right.due, right.key)
    }
}

/// Where a delivery stands among those that wait for a further attempt: by due time, then by acceptance.
package struct RetryPlace: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970.
    package var due: Int64
    package var key: OutboxKey

    package init(due: Int64, key: OutboxKey) {
        self.due = due
        self.key = key
    }

    package static func < (left: RetryPlace, right: RetryPlace) -> Bool {
        (left.due, left.key) < (right.due, right.key)
    }
}

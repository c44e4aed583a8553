import Delivery

/// A queue that attempts nothing, or almost nothing, and since when.
package struct TracedPause: Sendable, Hashable {
    package var pause: QueuePause
    /// When it began, however often it was prolonged; in milliseconds since 1970.
    package var since: Int64

    package init(_ pause: QueuePause, since: Int64) {
        self.pause = pause
        self.since = since
    }
}

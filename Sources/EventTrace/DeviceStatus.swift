import Delivery
import Notifications
import Units

/// How pushes to a device went of late.
package struct DeviceStatus: Sendable, Hashable {
    package struct Success: Sendable, Hashable {
        package var at: Timestamp
        /// The push service's HTTP status, or 0.
        package var status: Int
    }

    package struct Failure: Sendable, Hashable {
        package var at: Timestamp
        /// By its word, see `DeliveryReport.Kind`.
        package var kind: String
        /// The push service's HTTP status, or 0.
        package var status: Int
        /// One word of a small fixed set.
        package var reason: String
    }

    package var lastSuccess: Success?
    package var lastFailure: Failure?

    package init(lastSuccess: Success? = nil, lastFailure: Failure? = nil) {
        self.lastSuccess = lastSuccess
        self.lastFailure = lastFailure
    }

    /// Takes note of the end of a push to it: what a report says of it, without the report, whose other texts would be
    /// counted once more.
    mutating func take(
        _ kind: DeliveryReport.Kind,
        status: UInt32,
        reason: @autoclosure () -> String,
        at time: Timestamp
    ) {
        switch kind {
        case .delivered:
            lastSuccess = Success(at: time, status: Int(status))
        case .gone, .rejected, .retry, .misconfigured, .expired:
            lastFailure = Failure(at: time, kind: kind.name, status: Int(status), reason: reason())
        case .reduced, .postponed, .unregistered, .moved, .unreadable, .requeued, .discarded: break
        }
    }
}

/// A queue that attempts nothing, or almost nothing, and since when.
package struct TracedPause: Sendable, Hashable {
    package var pause: QueuePause
    /// When it began, however often it was prolonged.
    package var since: Timestamp

    package init(_ pause: QueuePause, since: Timestamp) {
        self.pause = pause
        self.since = since
    }
}

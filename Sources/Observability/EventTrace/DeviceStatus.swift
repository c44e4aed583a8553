import Core
import Delivery
import Push

/// The recent results of pushes to a device.
package struct DeviceStatus: Sendable, Hashable {
    package struct Success: Sendable, Hashable {
        package var at: Timestamp
        /// The push service's HTTP status, or 0.
        package var status: Int
    }

    package struct FailedPush: Sendable, Hashable {
        package var at: Timestamp
        /// A word of `DeliveryReport.Kind`.
        package var kind: String
        /// The push service's HTTP status, or 0.
        package var status: Int
        /// One word of a small fixed set.
        package var reason: String
    }

    package var lastSuccess: Success?
    package var lastFailure: FailedPush?

    package init(lastSuccess: Success? = nil, lastFailure: FailedPush? = nil) {
        self.lastSuccess = lastSuccess
        self.lastFailure = lastFailure
    }

    /// Records the end of a push to it. Takes single values instead of the report, whose other strings would be
    /// retained too.
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
            lastFailure = FailedPush(at: time, kind: kind.rawValue, status: Int(status), reason: reason())
        case .reduced, .postponed, .unregistered, .moved, .unreadable, .requeued, .discarded, .deleted: break
        }
    }
}

/// Statuses of devices that wait to be written. Each device gets at most one row per second, because a row for each
/// push would cost as much as its trace. A device's first status is written with the next entries.
struct PendingStatuses: Sendable {
    /// The minimum time between two rows of a device.
    static let span: Duration = .seconds(1)
    /// Up to this many devices wait; more are written as if they were new.
    static let maxWaiting = 8_192

    /// Statuses of the devices that wait to be written.
    private(set) var statuses: [DeviceID: DeviceStatus] = [:]
    /// The devices that were written since ``begin``.
    private var written: Set<DeviceID> = []
    private var begin: Timestamp?

    /// When the waiting statuses must be written at the latest; nil: none wait.
    var due: Timestamp? { statuses.isEmpty ? nil : begin.map { $0 + Self.span } }

    /// Records the end of a push to a device; ignores new devices above `limit`.
    mutating func take(
        _ device: DeviceID,
        _ kind: DeliveryReport.Kind,
        status: UInt32,
        reason: @autoclosure () -> String,
        at time: Timestamp,
        limit: Int
    ) {
        guard statuses.count < limit || statuses[device] != nil else { return }
        statuses[device, default: DeviceStatus()].take(kind, status: status, reason: reason(), at: time)
    }

    /// Removes and returns the statuses due now, or all of them with `all`.
    mutating func takeDue(at now: Timestamp, all: Bool) -> [DeviceID: DeviceStatus] {
        guard !statuses.isEmpty else { return [:] }
        // A clock that was set back ends the wait.
        let isOver = begin.map { now < $0 || now - $0 >= Self.span } ?? true
        var due: [DeviceID: DeviceStatus] = [:]
        if isOver || all {
            due.reserveCapacity(statuses.count)
            swap(&due, &statuses)
        } else {
            due = statuses.filter { !written.contains($0.key) }
            for device in due.keys { statuses[device] = nil }
        }
        if isOver {
            begin = now
            written.removeAll(keepingCapacity: true)
        }
        for device in due.keys where written.count < Self.maxWaiting { written.insert(device) }
        return due
    }
}

/// A paused or nearly paused queue, and since when.
package struct TracedPause: Sendable, Hashable {
    package var pause: QueuePause
    /// The start of the pause, however often it was extended.
    package var since: Timestamp

    package init(_ pause: QueuePause, since: Timestamp) {
        self.pause = pause
        self.since = since
    }
}

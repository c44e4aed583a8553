import Core
import Delivery
import Push

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
        case .reduced, .postponed, .unregistered, .moved, .unreadable, .requeued, .discarded, .deleted: break
        }
    }
}

/// How pushes to devices went, until it is written: of each device once a second at most, since a row for each of many
/// pushes costs as much as what is traced of them. What a device hears first is written with the next entries.
struct PendingStatuses: Sendable {
    /// How long a device that was written waits for its next row.
    static let span: Duration = .seconds(1)
    /// So many devices wait at most; further ones are written as if they never had been.
    static let mostWaiting = 8_192

    /// Of the devices that wait to be written.
    private(set) var statuses: [DeviceID: DeviceStatus] = [:]
    /// Those that were written since ``begin``.
    private var written: Set<DeviceID> = []
    private var begin: Timestamp?

    /// When those that wait are to be written, whatever else there is; nil: there are none that wait.
    var due: Timestamp? { statuses.isEmpty ? nil : begin.map { $0 + Self.span } }

    /// Takes note of the end of a push to a device; of no further device where there are `limit` already.
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

    /// Takes out what is to be written now; `all`, where there is no later.
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
        for device in due.keys where written.count < Self.mostWaiting { written.insert(device) }
        return due
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

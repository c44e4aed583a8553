import Caching
import Notifications
import Units

/// The devices that worked and whose endpoint was not found at the last attempt.
///
/// A 404 may come from a proxy in front of a push service that is restarting. It says that a device is gone only if
/// the endpoint is still not found an hour later. A restart of the router begins the hour again.
struct NotFoundTable: Sendable {
    private struct Entry: Sendable {
        /// Of the address that was tried.
        let registeredAt: Timestamp
        let since: Timestamp
    }

    /// The reason of an outcome `gone` that the push service itself may not have given; `plugin.h` defines it.
    static let reason = "not-found"

    private static let patience: Duration = .hours(1)
    private static let capacity = 65_536

    private var entries = BoundedCache<DeviceID, Entry>(capacity: capacity)

    /// Notes that the endpoint of a device was not found. Returns whether the first such answer is an hour old, with no
    /// success since.
    mutating func hasLasted(_ device: DeviceID, registeredAt: Timestamp, now: Timestamp) -> Bool {
        if let first = entries.value(of: device), first.registeredAt == registeredAt, first.since <= now {
            return now - first.since >= Self.patience
        }
        entries.set(Entry(registeredAt: registeredAt, since: now), for: device)
        return false
    }

    /// The push service accepted a push for the device.
    mutating func forget(_ device: DeviceID) { if entries.count > 0 { entries.remove(device) } }
}

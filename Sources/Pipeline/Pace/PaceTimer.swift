import Notifications

/// When to look at a device again, in milliseconds since 1970.
struct PaceTimer: Comparable {
    let due: Int64
    let device: DeviceID

    static func < (left: PaceTimer, right: PaceTimer) -> Bool { (left.due, left.device) < (right.due, right.device) }
}

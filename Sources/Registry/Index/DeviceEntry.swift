import Notifications

/// What has to be known of a device to decide whether an event wakes it: 27 bytes, a million of them in memory.
package struct DeviceEntry: Hashable, Sendable {
    package var device: DeviceID
    /// Since when its slot has held a device without a break, in milliseconds since 1970.
    package var firstRegisteredAt: Int64
    package var signals: SignalSet
    package var route: RouteID
    private var modeCode: Int8

    package init(device: DeviceID, firstRegisteredAt: Int64, signals: SignalSet, route: RouteID, mode: Mode?) {
        self.device = device
        self.firstRegisteredAt = firstRegisteredAt
        self.signals = signals
        self.route = route
        self.modeCode = mode.map { Int8(truncatingIfNeeded: $0.rawValue) } ?? -1
    }

    /// The mode that the registration asked for; nil: the operator's default.
    package var mode: Mode? { Mode(rawValue: Int32(modeCode)) }
}

import Notifications

/// One of the groups of events that wait for a device: its number and, below it, the group's slot.
package struct HeldKey: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    /// Slots are 0 to 3.
    private static let slotBits: Int64 = 2

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package init(device: DeviceID, slot: UInt8) {
        rawValue = device.rawValue << Self.slotBits | Int64(slot & 3)
    }

    package var device: DeviceID { DeviceID(rawValue: rawValue >> Self.slotBits) }

    package var slot: UInt8 { UInt8(truncatingIfNeeded: rawValue & 3) }

    /// All of a device's.
    static func all(of device: DeviceID) -> ClosedRange<Int64> {
        HeldKey(device: device, slot: 0).rawValue...HeldKey(device: device, slot: 3).rawValue
    }
}

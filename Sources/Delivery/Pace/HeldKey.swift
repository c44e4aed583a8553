import Notifications

/// One of the groups of events that wait for a device: its number and, below it, the group's slot.
package struct HeldKey: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    package static let slots = 32
    private static let slotBits: Int64 = 5
    private static let slotMask: Int64 = 31
    /// How many bits a slot had before ``Outbox/heldNatures``.
    static let formerSlotBits: Int64 = 2

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package init(device: DeviceID, slot: UInt8) {
        rawValue = device.rawValue << Self.slotBits | (Int64(slot) & Self.slotMask)
    }

    package var device: DeviceID { DeviceID(rawValue: rawValue >> Self.slotBits) }

    package var slot: UInt8 { UInt8(truncatingIfNeeded: rawValue & Self.slotMask) }

    /// Reads a number of an outbox from before ``Outbox/heldNatures``.
    init(former number: Int64) {
        self.init(
            device: DeviceID(rawValue: number >> Self.formerSlotBits),
            slot: UInt8(truncatingIfNeeded: number & (1 << Self.formerSlotBits - 1))
        )
    }

    /// All of a device's in an outbox from before ``Outbox/heldNatures``.
    static func allFormer(of device: DeviceID) -> ClosedRange<Int64> {
        let first = device.rawValue << formerSlotBits
        return first...(first | (1 << formerSlotBits - 1))
    }

    /// All of a device's.
    static func all(of device: DeviceID) -> ClosedRange<Int64> {
        HeldKey(device: device, slot: 0).rawValue...HeldKey(device: device, slot: UInt8(slots - 1)).rawValue
    }
}

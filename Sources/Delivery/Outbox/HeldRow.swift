import Notifications
import Units

/// A held group as the outbox keeps it: events that wait until their device may be woken again, and then become one
/// push.
package struct HeldRow: Sendable, Hashable {
    package var key: HeldKey
    /// Those of its events whose notifications are kept, the first one first.
    package var members: [UInt8]
    package var nature: PushNature
    /// Identifies events that replace each other; nil: all count.
    package var mark: Int64?
    /// When the notification's event was created, in seconds since 1970; 0 where all count.
    package var madeAt: Int64
    /// The account of the device: 32 bytes.
    package var account: [UInt8]
    /// The id of the first event: 32 bytes.
    package var event: [UInt8]
    package var isMessage: Bool
    /// Whether they wait for the end of the window too.
    package var hasOverflowed: Bool
    package var signal: Signal
    package var mode: Mode
    package var urgency: Urgency
    package var count: UInt32
    /// When the first event arrived.
    package var since: Timestamp
    /// When the last of them expires; the epoch: never.
    package var expiresAt: Timestamp

    package init(
        key: HeldKey,
        members: [UInt8] = [],
        account: [UInt8],
        event: [UInt8],
        isMessage: Bool,
        hasOverflowed: Bool,
        signal: Signal,
        mode: Mode,
        urgency: Urgency,
        count: UInt32,
        since: Timestamp,
        expiresAt: Timestamp,
        nature: PushNature = .alert,
        mark: Int64? = nil,
        madeAt: Int64 = 0
    ) {
        self.key = key
        self.members = members
        self.nature = nature
        self.mark = mark
        self.madeAt = madeAt
        self.account = account
        self.event = event
        self.isMessage = isMessage
        self.hasOverflowed = hasOverflowed
        self.signal = signal
        self.mode = mode
        self.urgency = urgency
        self.count = count
        self.since = since
        self.expiresAt = expiresAt
    }
}

/// One of the events of a held group, with its own notification: it is sent when no other event of the group is left.
package struct HeldMember: Sendable, Hashable {
    package var key: HeldMemberKey
    /// The event's id: 32 bytes.
    package var event: [UInt8]
    package var mode: Mode
    /// The epoch: never.
    package var expiresAt: Timestamp
    /// When the event was created, in seconds since 1970; 0 where all of its group count.
    package var madeAt: Int64
    package var held: HeldNotification

    package init(
        key: HeldMemberKey,
        event: [UInt8],
        mode: Mode,
        expiresAt: Timestamp,
        madeAt: Int64,
        _ held: HeldNotification
    ) {
        self.key = key
        self.event = event
        self.mode = mode
        self.expiresAt = expiresAt
        self.madeAt = madeAt
        self.held = held
    }
}

/// Identifies an event that is held for a device: the device's number and, below it, one of 256.
package struct HeldMemberKey: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    private static let numberBits: Int64 = 8

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package init(device: DeviceID, number: UInt8) {
        rawValue = device.rawValue << Self.numberBits | Int64(number)
    }

    package var device: DeviceID { DeviceID(rawValue: rawValue >> Self.numberBits) }

    package var number: UInt8 { UInt8(truncatingIfNeeded: rawValue) }

    /// All keys of a device.
    static func all(of device: DeviceID) -> ClosedRange<Int64> {
        HeldMemberKey(device: device, number: 0).rawValue...HeldMemberKey(device: device, number: .max).rawValue
    }
}

/// The notification of an event that is held.
package struct HeldNotification: Sendable, Hashable {
    package var notification: Notification
    /// Identifies the key that it is encrypted to; nil where it is not encrypted, or the key is unknown.
    package var sealedTo: Int64?

    package init(_ notification: Notification, sealedTo: Int64? = nil) {
        self.notification = notification
        self.sealedTo = sealedTo
    }
}

/// Identifies a held group: its device's number and, below it, the group's slot.
package struct HeldKey: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    package static let slots = 32
    private static let slotBits: Int64 = 5
    private static let slotMask: Int64 = 31
    /// How many bits a slot had before the migration `outbox-held-natures`.
    private static let formerSlotBits: Int64 = 2

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package init(device: DeviceID, slot: UInt8) {
        rawValue = device.rawValue << Self.slotBits | (Int64(slot) & Self.slotMask)
    }

    package var device: DeviceID { DeviceID(rawValue: rawValue >> Self.slotBits) }

    package var slot: UInt8 { UInt8(truncatingIfNeeded: rawValue & Self.slotMask) }

    /// Reads a number of an outbox from before the migration `outbox-held-natures`.
    init(former number: Int64) {
        self.init(
            device: DeviceID(rawValue: number >> Self.formerSlotBits),
            slot: UInt8(truncatingIfNeeded: number & (1 << Self.formerSlotBits - 1))
        )
    }

    /// All keys of a device in an outbox from before the migration `outbox-held-natures`.
    static func allFormer(of device: DeviceID) -> ClosedRange<Int64> {
        let first = device.rawValue << formerSlotBits
        return first...(first | (1 << formerSlotBits - 1))
    }

    /// All keys of a device.
    static func all(of device: DeviceID) -> ClosedRange<Int64> {
        HeldKey(device: device, slot: 0).rawValue...HeldKey(device: device, slot: UInt8(slots - 1)).rawValue
    }
}

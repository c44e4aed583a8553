import Core
import Push

/// The pacing state of a device, stored in the outbox with its deliveries.
package struct PaceRow: Sendable, Hashable {
    package var device: DeviceID
    /// When the last push was delivered; the epoch means never.
    package var pushedAt: Timestamp
    package var windowStart: Timestamp
    /// Matches in the current window.
    package var matches: Int32
    /// The UTC day of `pushes`, counted from 1970.
    package var dayOfPushes: Int32
    package var pushes: Int32
    /// The id of the delivery that was released last; nil after its end.
    package var underWay: DeliveryID?
    package var releasedAt: Timestamp
    /// The number of consecutive deliveries that failed and stopped blocking the next.
    package var unblocked: Int32
    /// When the last silent pushes were released, up to the hourly limit. Empty if they are not limited.
    package var silentPushes: [Timestamp]

    /// After this many in a row the push service counts as down, and later events are merged.
    package static let maxUnblocked: Int32 = 3

    package init(
        device: DeviceID,
        pushedAt: Timestamp = .epoch,
        windowStart: Timestamp = .epoch,
        matches: Int32 = 0,
        dayOfPushes: Int32 = 0,
        pushes: Int32 = 0,
        underWay: DeliveryID? = nil,
        releasedAt: Timestamp = .epoch,
        unblocked: Int32 = 0,
        silentPushes: [Timestamp] = []
    ) {
        self.device = device
        self.pushedAt = pushedAt
        self.windowStart = windowStart
        self.matches = matches
        self.dayOfPushes = dayOfPushes
        self.pushes = pushes
        self.underWay = underWay
        self.releasedAt = releasedAt
        self.unblocked = unblocked
        self.silentPushes = silentPushes
    }
}

/// The end of a delivery for its device's pace. A delivery that no longer blocks others ends here too, even if it is
/// delivered later.
package struct CompletedPush: Sendable, Hashable {
    package var device: DeviceID
    /// The delivery's id.
    package var delivery: DeliveryID
    /// Whether it counts as a push: it was delivered, or the push service received and refused it.
    package var counts: Bool
    /// Whether it may still be delivered, but no longer blocks others.
    package var stopsBlocking: Bool
    package var moment: Timestamp

    /// Returns the ends among `reports`. It excludes deliveries that continue, perhaps in another queue, and those of
    /// the sealed ingress, which have no pace.
    package static func all(of reports: [DeliveryReport], at moment: Timestamp) -> [CompletedPush] {
        var ends: [CompletedPush] = []
        ends.reserveCapacity(reports.count)
        // Iterates over indices, because a report contains many strings.
        for place in reports.indices {
            let (kind, stopsBlocking) = (reports[place].kind, reports[place].stopsBlocking)
            guard stopsBlocking || (kind.isFinal && kind != .moved), reports[place].device.rawValue >= 0 else {
                continue
            }
            ends.append(
                CompletedPush(
                    device: reports[place].device,
                    delivery: reports[place].delivery,
                    counts: kind == .delivered || kind == .rejected,
                    stopsBlocking: stopsBlocking,
                    moment: moment
                )
            )
        }
        return ends
    }

    package init(
        device: DeviceID,
        delivery: DeliveryID,
        counts: Bool,
        stopsBlocking: Bool = false,
        moment: Timestamp
    ) {
        self.device = device
        self.delivery = delivery
        self.counts = counts
        self.stopsBlocking = stopsBlocking
        self.moment = moment
    }
}

/// Changes to devices' paces, applied in the transaction that stores the deliveries and their causes.
package struct PaceChanges: Sendable, Hashable {
    /// Devices that are no longer registered: all their rows are deleted. Applied first.
    package var forgotten: [DeviceID] = []
    /// Each replaces its device's former row.
    package var rows: [PaceRow] = []
    package var held: [HeldRow] = []
    /// Groups that are no longer held.
    package var released: [HeldKey] = []
    /// New held events. Each replaces the former one with its key.
    package var members: [HeldMember] = []
    /// Events that are no longer held.
    package var removed: [HeldMemberKey] = []
    /// Events that authors took back or replaced. Queued deliveries of those taken back get no more attempts.
    package var withdrawn: [Withdrawal] = []

    package init() {}

    package var isEmpty: Bool {
        forgotten.isEmpty && rows.isEmpty && held.isEmpty && released.isEmpty && members.isEmpty && removed.isEmpty
            && withdrawn.isEmpty
    }
}

/// A held group as the outbox stores it: events that are held until their device may get the next push.
package struct HeldRow: Sendable, Hashable {
    package var key: HeldKey
    /// The numbers of its events whose notifications are stored, the first event first.
    package var members: [UInt8]
    package var nature: PushNature
    /// A hash of the key by which its events replace each other; nil if all count.
    package var mark: Int64?
    /// When the notification's event was created, in seconds since 1970; 0 if all count.
    package var madeAt: Int64
    /// The account of the device: 32 bytes.
    package var account: [UInt8]
    /// The id of the first event: 32 bytes.
    package var event: [UInt8]
    package var isMessage: Bool
    /// Whether they must also wait for the end of the window.
    package var hasOverflowed: Bool
    package var signal: Signal
    package var mode: Mode
    package var urgency: Urgency
    package var count: UInt32
    /// When the first event arrived.
    package var since: Timestamp
    /// When the last of them expires; the epoch means never.
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

/// One of the events of a held group, with its notification. It is sent if no other event of the group is left.
package struct HeldMember: Sendable, Hashable {
    package var key: HeldMemberKey
    /// The event's id: 32 bytes.
    package var event: [UInt8]
    package var mode: Mode
    /// The epoch means never.
    package var expiresAt: Timestamp
    /// When the event was created, in seconds since 1970; 0 if all events of its group count.
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

/// The key of a device's held event: the device's number and, in the lower bits, one of 256 numbers.
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

/// The notification of a held event.
package struct HeldNotification: Sendable, Hashable {
    package var notification: Notification
    /// A fingerprint of the key that it is encrypted to; nil if it is not encrypted, or the key is unknown.
    package var sealedTo: Int64?

    package init(_ notification: Notification, sealedTo: Int64? = nil) {
        self.notification = notification
        self.sealedTo = sealedTo
    }
}

/// The key of a held group: its device's number and, in the lower bits, the group's slot.
package struct HeldKey: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64

    package static let slots = 32
    private static let slotBits: Int64 = 5
    private static let slotMask: Int64 = 31

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package init(device: DeviceID, slot: UInt8) {
        rawValue = device.rawValue << Self.slotBits | (Int64(slot) & Self.slotMask)
    }

    package var device: DeviceID { DeviceID(rawValue: rawValue >> Self.slotBits) }

    package var slot: UInt8 { UInt8(truncatingIfNeeded: rawValue & Self.slotMask) }

    /// All keys of a device.
    static func all(of device: DeviceID) -> ClosedRange<Int64> {
        HeldKey(device: device, slot: 0).rawValue...HeldKey(device: device, slot: UInt8(slots - 1)).rawValue
    }
}

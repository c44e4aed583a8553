import Notifications
import Units

/// How a device was woken lately, as the outbox keeps it beside the deliveries.
package struct PaceRow: Sendable, Hashable {
    package var device: DeviceID
    /// When the last push was delivered; the epoch: never.
    package var pushedAt: Timestamp
    package var windowStart: Timestamp
    /// Matches in the current window.
    package var matches: Int32
    /// The UTC day that `pushes` are of, counted from 1970.
    package var dayOfPushes: Int32
    package var pushes: Int32
    /// The id of the delivery that was released last; nil once its end is known.
    package var underWay: DeliveryID?
    package var releasedAt: Timestamp
    /// How many deliveries in a row stood aside and let the next one go.
    package var aside: Int32
    /// When the last silent pushes were released, up to the number that an hour allows; empty where these are not
    /// limited.
    package var silentPushes: [Timestamp]

    /// After this many in a row the push service is considered down, and later events are merged.
    package static let mostAside: Int32 = 3

    package init(
        device: DeviceID,
        pushedAt: Timestamp = .epoch,
        windowStart: Timestamp = .epoch,
        matches: Int32 = 0,
        dayOfPushes: Int32 = 0,
        pushes: Int32 = 0,
        underWay: DeliveryID? = nil,
        releasedAt: Timestamp = .epoch,
        aside: Int32 = 0,
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
        self.aside = aside
        self.silentPushes = silentPushes
    }
}

/// The end of a delivery for its device's pace. A delivery that stands aside ends here too, whatever becomes of it
/// later.
package struct PushEnd: Sendable, Hashable {
    package var device: DeviceID
    /// The delivery's id.
    package var delivery: DeliveryID
    /// Whether it counts as a push: it was delivered, or the push service received and refused it.
    package var counts: Bool
    /// Whether it may still be delivered, but no longer keeps others waiting.
    package var standsAside: Bool
    package var moment: Timestamp

    /// The ends among `reports`: not where a delivery goes on, perhaps in another queue, nor what the sealed ingress
    /// sends, which has no pace.
    package static func all(of reports: [DeliveryReport], at moment: Timestamp) -> [PushEnd] {
        var ends: [PushEnd] = []
        ends.reserveCapacity(reports.count)
        // By their places, since a report is many texts.
        for place in reports.indices {
            let (kind, standsAside) = (reports[place].kind, reports[place].standsAside)
            guard standsAside || (kind.isFinal && kind != .moved), reports[place].device.rawValue >= 0 else { continue }
            ends.append(
                PushEnd(
                    device: reports[place].device,
                    delivery: reports[place].delivery,
                    counts: kind == .delivered || kind == .rejected,
                    standsAside: standsAside,
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
        standsAside: Bool = false,
        moment: Timestamp
    ) {
        self.device = device
        self.delivery = delivery
        self.counts = counts
        self.standsAside = standsAside
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
    /// Groups that no longer wait.
    package var released: [HeldKey] = []
    /// Events that are held from now on. Each replaces the former one with its key.
    package var members: [HeldMember] = []
    /// Events that are no longer held.
    package var removed: [HeldMemberKey] = []
    /// What authors took back: deliveries that wait for another attempt get none.
    package var withdrawn: [Withdrawal] = []

    package init() {}

    package var isEmpty: Bool {
        forgotten.isEmpty && rows.isEmpty && held.isEmpty && released.isEmpty && members.isEmpty && removed.isEmpty
            && withdrawn.isEmpty
    }
}

/// Keeps devices' paces together with the deliveries, so that a released group becomes a delivery in the same
/// transaction. Changes come through ``Courier/accept(_:causes:pace:)``.
package protocol PaceStore: Sendable {
    /// Calls `pace` with each device's row, then `member` with each event that is held and can be read, and then `held`
    /// with each group. Call it once, before anything is accepted or attempted: a delivery that was under way and is no
    /// longer in the outbox counts as delivered. Drops rows that have no effect any more at `now`.
    func loadPaces(
        at now: Timestamp,
        pace: (PaceRow) -> Void,
        member: (HeldMember) -> Void,
        held: (HeldRow) -> Void
    ) throws

    /// The notification of an event that is held; nil when there is none, or it cannot be read.
    func heldNotification(_ key: HeldMemberKey) throws -> HeldNotification?

    /// The deletions that the store remembers, the oldest first.
    func withdrawals() throws -> [Withdrawal]

    /// Calls `body` with the authors of events whose notifications are stored.
    func forEachAuthor(_ body: (SIMD4<UInt64>) -> Void) throws
}

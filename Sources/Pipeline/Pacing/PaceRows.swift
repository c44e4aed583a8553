import Delivery
import Nostr
import Notifications

extension PaceRow {
    init(_ device: DeviceID, _ pace: DevicePace) {
        self.init(
            device: device,
            pushedAt: pace.pushedAt,
            windowStart: pace.windowStart,
            matches: pace.matches,
            dayOfPushes: pace.dayOfPushes,
            pushes: pace.pushes,
            underWay: pace.underWay,
            releasedAt: pace.releasedAt,
            aside: pace.aside,
            silentPushes: pace.silentPushes
        )
    }
}

extension DevicePace {
    /// Without its groups.
    init(_ row: PaceRow) {
        self.init(
            pushedAt: row.pushedAt,
            windowStart: row.windowStart,
            matches: row.matches,
            dayOfPushes: row.dayOfPushes,
            pushes: row.pushes,
            underWay: row.underWay,
            releasedAt: row.releasedAt,
            aside: row.aside,
            silentPushes: row.silentPushes
        )
    }
}

extension HeldRow {
    init(_ group: HeldGroup, _ key: HeldKey, _ content: Content) {
        self.init(
            key: key,
            account: group.account.bytes.array,
            event: group.event.bytes.array,
            isMessage: group.isMessage,
            hasOverflowed: group.hasOverflowed,
            signal: group.signal,
            mode: group.mode,
            urgency: group.urgency,
            count: group.count,
            since: group.since,
            expiresAt: group.expiresAt,
            content: content,
            nature: group.nature,
            mark: group.mark,
            madeAt: group.madeAt
        )
    }
}

extension HeldGroup {
    /// Nil when the row is not one that we wrote.
    init?(_ row: HeldRow) {
        guard let account = Bytes32(bytes: row.account), let event = Bytes32(bytes: row.event), row.count > 0 else {
            return nil
        }
        self.init(
            slot: row.key.slot,
            nature: row.nature,
            mark: row.mark,
            madeAt: row.madeAt,
            isMessage: row.isMessage,
            hasOverflowed: row.hasOverflowed,
            account: PublicKey(account),
            event: EventID(event),
            signal: row.signal,
            since: row.since,
            count: row.count,
            mode: row.mode,
            urgency: row.urgency,
            expiresAt: row.expiresAt
        )
    }
}

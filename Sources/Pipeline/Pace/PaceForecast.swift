import Delivery
import Nostr
import Registry

/// How a device is woken, for those who ask beside the pipeline.
package struct PaceForecast: Sendable, Hashable {
    /// When a push may go.
    package struct Turn: Sendable, Hashable {
        /// In milliseconds since 1970; nil: at once, or when what stands against it has ended.
        package let at: Int64?
        /// What stands longest against it now.
        package let reason: HoldReason?

        fileprivate init(_ obstacle: (until: Int64, reason: HoldReason)?) {
            at = obstacle.flatMap { $0.until == .max ? nil : $0.until }
            reason = obstacle?.reason
        }
    }

    /// Events that wait together.
    package struct Group: Sendable, Hashable {
        /// The first of them.
        package let event: EventID
        package let count: Int
        package let turn: Turn
    }

    /// What the device gets of what it wishes.
    package let pace: Pace
    /// Of the UTC day; nil: nothing limits them, so nobody counts.
    package let pushesToday: Int?
    /// What waits for it. They have turns of their own: direct messages may pass quiet hours.
    package let groups: [Group]
    /// The first of the groups' turns, or that of an event which came now where nothing waits.
    package let next: Turn

    /// How many events wait for it.
    package var held: Int { groups.reduce(0) { $0 + $1.count } }

    /// `row` and `held` are what the outbox has of the device, `now` is in milliseconds since 1970.
    package init(_ row: PaceRow?, _ held: [HeldRow], wishes: PaceWishes, policy: PacingPolicy, at now: Int64) {
        let wish = policy.pace(for: wishes)
        var state = row.map { DevicePace($0) } ?? DevicePace()
        let waiting = held.compactMap(HeldGroup.init).map { group in
            (group: group, obstacle: state.obstacle(to: group, wish, at: now))
        }
        let first = waiting.min { ($0.obstacle?.until ?? now) < ($1.obstacle?.until ?? now) }
        pace = wish
        next = Turn(first.map(\.obstacle) ?? state.obstacle(to: wish, at: now))
        groups = waiting.map { Group(event: $0.group.event, count: Int($0.group.count), turn: Turn($0.obstacle)) }
        let isToday = state.dayOfPushes == DevicePace.number(ofDay: now)
        pushesToday = wish.isGathering ? (isToday ? Int(state.pushes) : 0) : nil
    }
}

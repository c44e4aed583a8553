import Core
import Delivery
import Nostr
import Push
import Registry

/// When a device is woken next, for operators who ask outside the pipeline.
package struct PaceForecast: Sendable, Hashable {
    /// When a push may go.
    package struct Turn: Sendable, Hashable {
        /// Nil: at once, or when the obstacle has gone.
        package let at: Timestamp?
        /// The obstacle that lasts longest.
        package let reason: HoldReason?

        fileprivate init(_ obstacle: Obstacle?) {
            at = obstacle.flatMap { $0.until == .distantFuture ? nil : $0.until }
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

    /// The device's preferences within the operator's bounds.
    package let pace: Pace
    /// Of the UTC day; nil: nothing limits them, so nobody counts.
    package let pushesToday: Int?
    /// What waits for it. They have turns of their own: direct messages may pass quiet hours.
    package let groups: [Group]
    /// The first of the groups' turns, or that of an event which came now where nothing waits.
    package let next: Turn

    private static let noCapacity = Obstacle(until: .distantFuture, reason: .behind)

    /// How many events wait for it.
    package var held: Int { groups.reduce(0) { $0 + $1.count } }

    /// `row` and `held` are what the outbox has of the device, `pace` its preferences within the operator's bounds. `mode`
    /// is the most that the device gets: silent pushes may have a budget. `isCrowded` says whether the outbox may lack
    /// capacity for a group whose turn is now.
    package init(
        _ row: PaceRow?,
        _ held: [HeldRow],
        pace: Pace,
        mode: Mode = .alert,
        at now: Timestamp,
        isCrowded: () -> Bool = { false }
    ) {
        var state = row.map { DevicePace($0) } ?? DevicePace()
        let waiting = held.compactMap { HeldGroup($0) }.map { group in
            (group: group, obstacle: state.obstacle(to: group, pace, at: now))
        }
        let first = waiting.min { ($0.obstacle?.until ?? now) < ($1.obstacle?.until ?? now) }
        self.pace = pace
        let noCapacity = waiting.contains { $0.obstacle == nil } && isCrowded() ? Self.noCapacity : nil
        let nature = mode == .wake ? PushNature.silent : .alert
        next = Turn(first.map { $0.obstacle ?? noCapacity } ?? state.obstacle(to: pace, nature, at: now))
        groups = waiting.map { group, obstacle in
            Group(event: group.event, count: Int(group.count), turn: Turn(obstacle ?? noCapacity))
        }
        pushesToday = pace.isGathering ? state.history.pushes(onDayOf: now) : nil
    }
}

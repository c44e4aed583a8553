import Core
import Delivery
import Nostr
import Push
import Registry

/// When a device gets its next push, for operators. Computed outside the pipeline.
package struct PaceForecast: Sendable, Hashable {
    /// When a push may be sent.
    package struct Turn: Sendable, Hashable {
        /// Nil means immediately, or after another event; then there is a reason.
        package let at: Timestamp?
        /// The reason that lasts longest; nil if it may be sent immediately.
        package let reason: HoldReason?

        fileprivate init(_ postponement: Postponement?) {
            at = postponement.flatMap { $0.until == .distantFuture ? nil : $0.until }
            reason = postponement?.reason
        }
    }

    /// Events that are held together.
    package struct Group: Sendable, Hashable {
        /// The first event.
        package let event: EventID
        package let count: Int
        package let turn: Turn
    }

    /// The device's preferences within the operator's bounds.
    package let pace: Pace
    /// The pushes of the current UTC day; nil if they are unlimited and not counted.
    package let pushesToday: Int?
    /// The device's held groups. Each has a separate turn, because direct messages may pass quiet hours.
    package let groups: [Group]
    /// The first turn of the groups, or the turn of a new event if no group is held.
    package let next: Turn

    private static let noCapacity = Postponement(until: .distantFuture, reason: .behind)

    /// The number of held events.
    package var held: Int { groups.reduce(0) { $0 + $1.count } }

    /// `row` and `held` are the stored state of the device, `pace` its preferences within the operator's bounds. `mode`
    /// is the device's mode, because silent pushes may have a separate limit. `isCrowded` returns whether the outbox
    /// may lack capacity for a group that is due.
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
            (group: group, postponement: state.postponement(to: group, pace, at: now))
        }
        let first = waiting.min { ($0.postponement?.until ?? now) < ($1.postponement?.until ?? now) }
        self.pace = pace
        let noCapacity = waiting.contains { $0.postponement == nil } && isCrowded() ? Self.noCapacity : nil
        let nature = mode == .wake ? PushNature.silent : .alert
        next = Turn(first.map { $0.postponement ?? noCapacity } ?? state.postponement(to: pace, nature, at: now))
        groups = waiting.map { group, postponement in
            Group(event: group.event, count: Int(group.count), turn: Turn(postponement ?? noCapacity))
        }
        pushesToday = pace.isGathering ? state.history.pushes(onDayOf: now) : nil
    }
}

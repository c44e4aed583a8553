import Core
import Delivery
import Nostr
import Push

/// How one device is woken: its push history, and the groups of matches that wait for it. Knows no clock, no disk and
/// no other device.
package struct DevicePace: Hashable, Sendable {
    package enum Admission: Equatable, Sendable {
        /// It goes now, as one push with these, which waited.
        case goes(with: [HeldGroup])
        case held(HoldReason, in: HeldGroup)
    }

    static let day = PushHistory.day

    var history = PushHistory()
    private(set) var groups: [HeldGroup] = []

    init() {}

    /// As the disk has it, without its groups.
    init(_ row: PaceRow) {
        history = PushHistory(row)
    }

    /// Adds a group that the disk has.
    mutating func restore(_ group: HeldGroup) { groups.append(group) }

    /// One more match. `hasCapacity` counts when nothing else stands against a push; see ``isReady(for:_:at:)``.
    mutating func admit(
        _ match: PaceMatch,
        account: PublicKey,
        _ pace: Pace,
        at now: Timestamp,
        hasCapacity: Bool
    ) -> Admission {
        settle(pace, at: now)
        let turn = history.turn(of: match, pace, at: now)
        let obstacle = history.obstacle(turn, pace, at: now)
        // Nothing overtakes what waits under its mark and may be later.
        if let index = index(of: match.mark) {
            groups[index].add(match, freeNumber)
            return .held(obstacle?.reason ?? .underWay, in: groups[index])
        }
        guard let reason = obstacle?.reason ?? (hasCapacity ? nil : .behind) else {
            return .goes(with: takeAlong(match, pace, at: now))
        }
        return .held(reason, in: hold(match, account, hasOverflowed: turn.hasOverflowed, at: now))
    }

    /// Whether one more match could go now if the outbox has capacity. Changes nothing.
    func isReady(for match: PaceMatch, _ pace: Pace, at now: Timestamp) -> Bool {
        guard index(of: match.mark) == nil else { return false }
        var history = history
        history.settle(at: now)
        let turn = history.turn(of: match, pace, at: now)
        return history.obstacle(turn, pace, at: now) == nil
    }

    /// Takes out what may go now. What is counted is one push for what is seen and one for what is not; each of the
    /// others is one by itself. `hasCapacity` is asked for each push.
    mutating func takeReady(_ pace: Pace, at now: Timestamp, hasCapacity: () -> Bool = { true }) -> [[HeldGroup]] {
        guard !groups.isEmpty else { return [] }
        settle(pace, at: now)
        var pushes: [[HeldGroup]] = []
        for group in readyGroups(pace, at: now) {
            let part = pushes.firstIndex { $0[0].mark == nil && group.mark == nil && $0[0].nature == group.nature }
            if let part { pushes[part].append(group) } else { pushes.append([group]) }
        }
        var left = history.pushesLeft(pace, at: now)
        var silentLeft = history.silentPushesLeft(pace, at: now)
        var taken: [[HeldGroup]] = []
        for push in pushes where left > 0 && (push[0].nature != .silent || silentLeft > 0) {
            guard hasCapacity() else { break }
            taken.append(push)
            left -= 1
            if push[0].nature == .silent { silentLeft -= 1 }
        }
        groups.removeAll { group in taken.contains { $0.contains(group) } }
        return taken
    }

    /// The group that goes by an event.
    func heldGroup(of first: EventID) -> HeldGroup? { groups.first { $0.event == first } }

    /// Takes an event out of the group that goes by `first`, which goes with the last one. Returns the group as it was;
    /// nil when there is none, or it no longer has the event.
    mutating func withdraw(_ event: EventID, fromGroupOf first: EventID) -> HeldGroup? {
        guard let index = groups.firstIndex(where: { $0.event == first }) else { return nil }
        let group = groups[index]
        guard groups[index].remove(event) else { return nil }
        if groups[index].isEmpty { groups.remove(at: index) }
        return group
    }

    mutating func takeOut(where isDropped: (HeldGroup) -> Bool) -> [HeldGroup] {
        let dropped = groups.filter(isDropped)
        if !dropped.isEmpty { groups.removeAll { dropped.contains($0) } }
        return dropped
    }

    /// When anything that waits may go as far as is known now; nil: not before something else happens.
    func due(_ pace: Pace, at now: Timestamp) -> Timestamp? {
        let due = groups.map { history.obstacle($0.turn, pace, at: now)?.until ?? now }.min()
        return due == .distantFuture ? nil : due
    }

    /// What stands against one more match of that nature that may not pass quiet hours.
    mutating func obstacle(to pace: Pace, _ nature: PushNature = .alert, at now: Timestamp) -> Obstacle? {
        settle(pace, at: now)
        let turn = PushHistory.Turn(nature: nature, hasOverflowed: history.isWindowFull(pace, at: now))
        return history.obstacle(turn, pace, at: now)
    }

    /// What stands against a group, as it waits now.
    mutating func obstacle(to group: HeldGroup, _ pace: Pace, at now: Timestamp) -> Obstacle? {
        settle(pace, at: now)
        return history.obstacle(group.turn, pace, at: now)
    }

    /// Whether nothing of it can matter to any pace any more.
    func isInert(at now: Timestamp) -> Bool { groups.isEmpty && history.isInert(at: now) }

    /// Lets a match wait: in the place of another one, in a group of its own, or in one that counts.
    private mutating func hold(
        _ match: PaceMatch,
        _ account: PublicKey,
        hasOverflowed: Bool,
        at now: Timestamp
    ) -> HeldGroup {
        if match.mark != nil {
            if let index = indexToReplace(by: match) {
                groups[index].giveWay(to: match, freeNumber ?? groups[index].members.first?.number ?? 0)
                return groups[index]
            }
            if match.nature != .alert || groups.count(where: { $0.isKept(.alert) }) < HeldGroup.slotsOfAlerts {
                let group = newGroup(match, account, hasOverflowed: hasOverflowed, at: now)
                groups.append(group)
                return group
            }
        }
        var group = newGroup(match, account, hasOverflowed: hasOverflowed, at: now)
        group.dropMark()
        if let index = groups.firstIndex(where: { $0.isOfSameSort(as: group) && $0.hasOverflowed == hasOverflowed }) {
            groups[index].add(match, freeNumber)
            return groups[index]
        }
        groups.append(group)
        return group
    }

    private func newGroup(
        _ match: PaceMatch,
        _ account: PublicKey,
        hasOverflowed: Bool,
        at now: Timestamp
    ) -> HeldGroup {
        HeldGroup(match, freeNumber ?? 0, slot: freeSlot, account, hasOverflowed: hasOverflowed, at: now)
    }

    /// Brings all times up to now, and lets groups that waited for the end of a window that is over wait for it no
    /// longer.
    private mutating func settle(_ pace: Pace, at now: Timestamp) {
        history.settle(at: now)
        guard !history.isWindowOpen(pace, at: now) else { return }
        for overflown in groups where overflown.hasOverflowed { markReady(overflown) }
    }

    private mutating func markReady(_ group: HeldGroup) {
        guard let own = groups.firstIndex(where: { $0.slot == group.slot }) else { return }
        guard let other = groups.firstIndex(where: { $0.isOfSameSort(as: group) && !$0.hasOverflowed }) else {
            groups[own].hasOverflowed = false
            return
        }
        groups[other].add(group)
        groups.remove(at: own)
    }

    /// Takes out the groups that are part of the same push as a match that goes now. Other groups that may go now need
    /// not wait for the next turn.
    private mutating func takeAlong(_ match: PaceMatch, _ pace: Pace, at now: Timestamp) -> [HeldGroup] {
        let ready = readyGroups(pace, at: now)
        guard !ready.isEmpty else { return [] }
        let along = match.mark == nil ? ready.filter { $0.mark == nil && $0.nature == match.nature } : []
        groups.removeAll { along.contains($0) }
        for group in ready {
            guard let index = groups.firstIndex(where: { $0.slot == group.slot }) else { continue }
            groups[index].isDue = true
        }
        return along
    }

    /// Groups that nothing stands against, the oldest first.
    private func readyGroups(_ pace: Pace, at now: Timestamp) -> [HeldGroup] {
        groups.filter { history.obstacle($0.turn, pace, at: now) == nil }
            .sorted { ($0.since, $0.slot) < ($1.since, $1.slot) }
    }

    /// The group that waits under that mark.
    private func index(of mark: Int64?) -> Int? {
        guard let mark else { return nil }
        return groups.firstIndex { $0.mark == mark }
    }

    /// The group that gives way to a match of another mark where there is no place for one more that is no alert: the
    /// oldest of its nature, or else the oldest of all of them.
    private func indexToReplace(by match: PaceMatch) -> Int? {
        guard match.nature != .alert else { return nil }
        let others = groups.indices.filter { groups[$0].isKept(.silent) || groups[$0].isKept(.special) }
        guard others.count >= HeldGroup.slotsOfOthers else { return nil }
        let alike = others.filter { groups[$0].nature == match.nature }
        return (alike.isEmpty ? others : alike).min { groups[$0].since < groups[$1].since }
    }

    /// A number for one more held event; nil: all are taken.
    private var freeNumber: UInt8? {
        let taken = groups.flatMap { $0.members.map(\.number) }
        return (UInt8.min...UInt8.max).first { !taken.contains($0) }
    }

    private var freeSlot: UInt8 {
        let taken = groups.map(\.slot)
        return (0..<UInt8(HeldKey.slots)).first { !taken.contains($0) } ?? 0
    }
}

extension HeldGroup {
    fileprivate var turn: PushHistory.Turn {
        PushHistory.Turn(nature: nature, isMessage: isMessage, hasOverflowed: hasOverflowed, isDue: isDue)
    }

    /// Whether it keeps the latest push of that nature.
    fileprivate func isKept(_ nature: PushNature) -> Bool { mark != nil && self.nature == nature }
}

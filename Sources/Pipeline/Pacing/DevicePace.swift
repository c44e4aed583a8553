import Core
import Delivery
import Nostr
import Push

/// The pacing state of one device: its push history and held groups. It uses no clock, disk or other device.
package struct DevicePace: Hashable, Sendable {
    package enum Decision: Equatable, Sendable {
        /// Sent now, as one push with these held groups.
        case goes(with: [HeldGroup])
        case held(HoldReason, in: HeldGroup)
    }

    var history = PushHistory()
    private(set) var groups: [HeldGroup] = []

    init() {}

    /// Creates the stored state, without its groups.
    init(_ row: PaceRow) {
        history = PushHistory(row)
    }

    /// Adds a stored group.
    mutating func restore(_ group: HeldGroup) { groups.append(group) }

    /// Admits one more match. `hasCapacity` matters only without a postponement; see ``isReady(for:_:at:)``.
    mutating func admit(
        _ match: PaceMatch,
        account: PublicKey,
        _ pace: Pace,
        at now: Timestamp,
        hasCapacity: Bool
    ) -> Decision {
        settle(pace, at: now)
        let turn = history.turn(of: match, pace, at: now)
        let postponement = history.postponement(turn, pace, at: now)
        // A match must not overtake a group that is held under its mark and may be newer.
        if let index = index(of: match.mark) {
            groups[index].add(match, freeNumber)
            return .held(postponement?.reason ?? .underWay, in: groups[index])
        }
        guard let reason = postponement?.reason ?? (hasCapacity ? nil : .behind) else {
            return .goes(with: takeCoalesced(match, pace, at: now))
        }
        return .held(reason, in: hold(match, account, hasOverflowed: turn.hasOverflowed, at: now))
    }

    /// Whether one more match could be sent now if the outbox has capacity. Changes no state.
    func isReady(for match: PaceMatch, _ pace: Pace, at now: Timestamp) -> Bool {
        guard index(of: match.mark) == nil else { return false }
        var history = history
        history.settle(at: now)
        let turn = history.turn(of: match, pace, at: now)
        return history.postponement(turn, pace, at: now) == nil
    }

    /// Removes the groups to send now. Counted groups form one push per nature; each other group is a separate push.
    /// `hasCapacity` is called for each push.
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

    /// Removes an event from the group named after `first`; an empty group is removed too. Returns the former group, or
    /// nil if there is none or it no longer contains the event.
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

    /// The earliest time at which a held group may be sent. Nil if that depends on another event.
    func due(_ pace: Pace, at now: Timestamp) -> Timestamp? {
        let due = groups.map { history.postponement($0.turn, pace, at: now)?.until ?? now }.min()
        return due == .distantFuture ? nil : due
    }

    /// The postponement of one more match of that nature that may not pass quiet hours.
    mutating func postponement(to pace: Pace, _ nature: PushNature = .alert, at now: Timestamp) -> Postponement? {
        settle(pace, at: now)
        let turn = PushHistory.Turn(nature: nature, hasOverflowed: history.isWindowFull(pace, at: now))
        return history.postponement(turn, pace, at: now)
    }

    mutating func postponement(to group: HeldGroup, _ pace: Pace, at now: Timestamp) -> Postponement? {
        settle(pace, at: now)
        return history.postponement(group.turn, pace, at: now)
    }

    /// Whether its state no longer matters to any pace.
    func isInert(at now: Timestamp) -> Bool { groups.isEmpty && history.isInert(at: now) }

    /// Holds a match: replaces another one, starts a group, or adds it to a counted group.
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

    /// Moves all times to at most now. Groups that waited for the end of a finished window become ready.
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

    /// Removes the groups that join the push of a match that is sent now. Other ready groups need not wait for the next
    /// turn.
    private mutating func takeCoalesced(_ match: PaceMatch, _ pace: Pace, at now: Timestamp) -> [HeldGroup] {
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

    /// Groups that may be sent now, the oldest first.
    private func readyGroups(_ pace: Pace, at now: Timestamp) -> [HeldGroup] {
        groups.filter { history.postponement($0.turn, pace, at: now) == nil }
            .sorted { ($0.since, $0.slot) < ($1.since, $1.slot) }
    }

    /// The group that is held under that mark.
    private func index(of mark: Int64?) -> Int? {
        guard let mark else { return nil }
        return groups.firstIndex { $0.mark == mark }
    }

    /// The group to replace with a match of another mark if the slots for non-alerts are full: the oldest of its
    /// nature, or else the oldest of all.
    private func indexToReplace(by match: PaceMatch) -> Int? {
        guard match.nature != .alert else { return nil }
        let others = groups.indices.filter { groups[$0].isKept(.silent) || groups[$0].isKept(.special) }
        guard others.count >= HeldGroup.slotsOfOthers else { return nil }
        let alike = others.filter { groups[$0].nature == match.nature }
        return (alike.isEmpty ? others : alike).min { groups[$0].since < groups[$1].since }
    }

    /// A free number for one more held event; nil if there is none.
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

    /// Whether it holds the latest push of that nature.
    fileprivate func isKept(_ nature: PushNature) -> Bool { mark != nil && self.nature == nature }
}

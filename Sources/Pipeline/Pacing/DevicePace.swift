import Delivery
import Nostr
import Notifications
import Registry

/// How one device is woken: what it was sent lately, and what waits for it. Knows no clock, no disk and no other device; all times
/// are in milliseconds since 1970.
package struct DevicePace: Hashable, Sendable {
    package enum Admission: Equatable, Sendable {
        /// It goes now, as one push with what waited and may go as part of it.
        case goes(with: [HeldGroup])
        case held(HoldReason, in: HeldGroup)
    }

    /// What of a match or a group matters to when it may go.
    private struct Turn {
        var nature = PushNature.alert
        var isMessage = false
        var hasOverflowed = false
        /// Whether its turn has begun with another push.
        var isDue = false

        init(_ nature: PushNature = .alert, isMessage: Bool = false, hasOverflowed: Bool) {
            self.nature = nature
            self.isMessage = isMessage
            self.hasOverflowed = hasOverflowed
        }

        init(of group: HeldGroup) {
            self.init(group.nature, isMessage: group.isMessage, hasOverflowed: group.hasOverflowed)
            isDue = group.isDue
        }
    }

    static let day: Int64 = 86_400_000
    static let hour: Int64 = 3_600_000

    /// When the last push was delivered; 0: never.
    var pushedAt: Int64 = 0
    var windowStart: Int64 = 0
    /// In the window.
    var matches: Int32 = 0
    /// Counted in UTC days since 1970.
    var dayOfPushes: Int32 = 0
    /// Of that day.
    var pushes: Int32 = 0
    /// The delivery that was released last, until its end is known. Without a cooldown earlier ones may be under way too; their ends
    /// change nothing, so of those that fail only the last gives its push back.
    var underWay: String?
    var releasedAt: Int64 = 0
    /// How many deliveries in a row stood aside and let the next one go.
    var aside: Int32 = 0
    /// When the last silent pushes set out, as many as an hour has; empty where nobody counts them.
    var silentPushes: [Int64] = []
    var groups: [HeldGroup] = []

    /// One more match. `takesRoom` is asked when nothing else stands against a push.
    mutating func admit(
        _ match: PaceMatch,
        account: PublicKey,
        _ pace: Pace,
        at now: Int64,
        takesRoom: () -> Bool = { true }
    ) -> Admission {
        settle(pace, at: now)
        let hasOverflowed = count(pace, at: now)
        let isMessage = match.signal == .dm
        let obstacle = obstacle(Turn(match.nature, isMessage: isMessage, hasOverflowed: hasOverflowed), pace, at: now)
        // Nothing passes by what waits under its mark and may be later.
        if let index = index(of: match.mark) {
            groups[index].add(match)
            return .held(obstacle?.reason ?? .underWay, in: groups[index])
        }
        guard let reason = obstacle?.reason ?? (takesRoom() ? nil : .behind) else {
            return .goes(with: takeAlong(match, pace, at: now))
        }
        if let mark = match.mark {
            if let index = indexToReplace(by: match) {
                groups[index].countOne()
                groups[index].replace(by: match)
                return .held(reason, in: groups[index])
            }
            if match.nature != .alert || groups.count(where: { $0.isKept(.alert) }) < HeldGroup.slotsOfAlerts {
                let group = group(of: match, mark: mark, account, hasOverflowed: hasOverflowed, at: now)
                groups.append(group)
                return .held(reason, in: group)
            }
        }
        let group = group(of: match, mark: nil, account, hasOverflowed: hasOverflowed, at: now)
        if let index = groups.firstIndex(where: { $0.isOfSameSort(as: group) && $0.hasOverflowed == hasOverflowed }) {
            groups[index].add(match)
            return .held(reason, in: groups[index])
        }
        groups.append(group)
        return .held(reason, in: group)
    }

    /// Takes out what may go now. What is counted is one push for what is seen and one for what is not; each of the
    /// others is one by itself. `takesRoom` is asked for each push.
    mutating func takeReady(_ pace: Pace, at now: Int64, takesRoom: () -> Bool = { true }) -> [[HeldGroup]] {
        guard !groups.isEmpty else { return [] }
        settle(pace, at: now)
        var pushes: [[HeldGroup]] = []
        for group in readyGroups(pace, at: now) {
            let part = pushes.firstIndex { $0[0].mark == nil && group.mark == nil && $0[0].nature == group.nature }
            if let part { pushes[part].append(group) } else { pushes.append([group]) }
        }
        var left = pace.dailyCap.map { dayOfPushes == Self.number(ofDay: now) ? $0 - Int(self.pushes) : $0 } ?? .max
        var silentLeft = pace.silentPerHour.map { $0 - silentPushes.count(where: { $0 > now - Self.hour }) } ?? .max
        var taken: [[HeldGroup]] = []
        for push in pushes where left > 0 && (push[0].nature != .silent || silentLeft > 0) {
            guard takesRoom() else { break }
            taken.append(push)
            left -= 1
            if push[0].nature == .silent { silentLeft -= 1 }
        }
        groups.removeAll { group in taken.contains { $0.contains(group) } }
        return taken
    }

    /// The group that goes by an event.
    func heldGroup(of first: EventID) -> HeldGroup? { groups.first { $0.event == first } }

    /// One of the group that goes by `first` shall not be told any more. Where only the latest counts, it is that one,
    /// and the group goes. Returns the group as it was; nil when there is none.
    mutating func withdraw(fromGroupOf first: EventID) -> HeldGroup? {
        guard let index = groups.firstIndex(where: { $0.event == first }) else { return nil }
        let group = groups[index]
        if group.count > 1, group.mark == nil {
            groups[index].count -= 1
        } else {
            groups.remove(at: index)
        }
        return group
    }

    /// Takes out what shall not be told any more.
    mutating func takeOut(where isDropped: (HeldGroup) -> Bool) -> [HeldGroup] {
        let dropped = groups.filter(isDropped)
        if !dropped.isEmpty { groups.removeAll { dropped.contains($0) } }
        return dropped
    }

    /// When anything that waits may go as far as is known now; nil: not before something else happens.
    func due(_ pace: Pace, at now: Int64) -> Int64? {
        let due = groups.map { obstacle(Turn(of: $0), pace, at: now)?.until ?? now }.min()
        return due == .max ? nil : due
    }

    /// What stands against one more match of that nature that may not pass quiet hours.
    mutating func obstacle(
        to pace: Pace,
        _ nature: PushNature = .alert,
        at now: Int64
    ) -> (until: Int64, reason: HoldReason)? {
        settle(pace, at: now)
        let isFull =
            pace.hasWindow && now < windowStart + pace.window && Int(matches) >= Pace.matchesBeforeBatch
        return obstacle(Turn(nature, hasOverflowed: isFull), pace, at: now)
    }

    /// What stands against a group, as it waits now.
    mutating func obstacle(
        to group: HeldGroup,
        _ pace: Pace,
        at now: Int64
    ) -> (until: Int64, reason: HoldReason)? {
        settle(pace, at: now)
        return obstacle(Turn(of: group), pace, at: now)
    }

    /// A push sets out.
    mutating func release(
        _ delivery: String,
        _ nature: PushNature = .alert,
        _ pace: Pace = Pace(),
        at now: Int64
    ) {
        let today = Self.number(ofDay: now)
        if dayOfPushes != today {
            dayOfPushes = today
            pushes = 0
        }
        pushes += 1
        underWay = delivery
        releasedAt = now
        if nature == .silent, let limit = pace.silentPerHour {
            silentPushes = silentPushes.suffix(max(0, limit - 1)) + [now]
        }
    }

    /// The end of a delivery; false if it is not the one under way. One that failed counts for nothing, but one that
    /// its push service refused does: else whoever gets themselves refused would have no pace.
    mutating func end(_ delivery: String, counts: Bool, at now: Int64) -> Bool {
        guard underWay == delivery else { return false }
        if counts {
            underWay = nil
            pushedAt = now
            aside = 0
        } else {
            giveBack(at: now)
        }
        return true
    }

    /// A delivery failed so often that the courier lets others pass; false if it is not the one under way, or if too many did so in a
    /// row. However it ends later counts for nothing.
    mutating func standAside(_ delivery: String, at now: Int64) -> Bool {
        guard underWay == delivery, aside < PaceRow.mostAside else { return false }
        aside += 1
        giveBack(at: now)
        return true
    }

    /// The device is at another push service, or another place there: whether the former one is down matters no more, nor what waits
    /// for it. False if that is nothing new.
    mutating func move() -> Bool {
        guard underWay != nil || aside > 0 else { return false }
        aside = 0
        if underWay != nil { giveBack(at: releasedAt) }
        return true
    }

    /// Whether nothing of it can matter to any pace any more.
    func isInert(at now: Int64) -> Bool {
        groups.isEmpty && underWay == nil && dayOfPushes < Self.number(ofDay: now)
            && max(pushedAt, windowStart) < now - Self.day
    }

    static func number(ofDay moment: Int64) -> Int32 { Int32(clamping: moment.flooredQuotient(by: day)) }

    /// What stands against a push now: until when at the earliest (`.max` where something has to happen first), and what stands
    /// longest.
    private func obstacle(_ turn: Turn, _ pace: Pace, at now: Int64) -> (until: Int64, reason: HoldReason)? {
        // Whose pushes need no distance need not know how one ended before the next.
        guard underWay == nil || pace.cooldown == 0 || turn.isDue else { return (.max, .underWay) }
        var (until, reason): (Int64, HoldReason?) = (now, nil)
        func wait(_ moment: Int64, _ why: HoldReason) {
            if moment > until { (until, reason) = (moment, why) }
        }
        if !turn.isDue { wait(pushedAt + pace.cooldown, .cooldown) }
        if turn.hasOverflowed, pace.hasWindow { wait(windowStart + pace.window, .window) }
        if let cap = pace.dailyCap, dayOfPushes == Self.number(ofDay: now), pushes >= cap {
            wait((Int64(dayOfPushes) + 1) * Self.day, .cap)
        }
        if turn.nature == .silent, let limit = pace.silentPerHour, silentPushes.count >= limit {
            wait(silentPushes[silentPushes.count - limit] + Self.hour, .silentBudget)
        }
        if let end = pace.quietEnd(at: until, isMessage: turn.isMessage) { wait(end, .quiet) }
        return reason.map { (until, $0) }
    }

    /// The push under way counts for nothing.
    private mutating func giveBack(at now: Int64) {
        underWay = nil
        if Self.number(ofDay: min(releasedAt, now)) == dayOfPushes, pushes > 0 { pushes -= 1 }
    }

    /// Counts a match; true when its window had enough.
    private mutating func count(_ pace: Pace, at now: Int64) -> Bool {
        guard pace.hasWindow else { return false }
        if now >= windowStart + pace.window {
            windowStart = now
            matches = 0
        }
        if matches < Int32.max { matches += 1 }
        return Int(matches) > Pace.matchesBeforeBatch
    }

    /// Nothing has happened later than now, whatever the clock said then; and what waited for the end of a window that is over waits
    /// for it no more.
    private mutating func settle(_ pace: Pace, at now: Int64) {
        pushedAt = min(pushedAt, now)
        windowStart = min(windowStart, now)
        releasedAt = min(releasedAt, now)
        dayOfPushes = min(dayOfPushes, Self.number(ofDay: now))
        if let last = silentPushes.last, last > now { silentPushes = silentPushes.map { min($0, now) } }
        guard !pace.hasWindow || now >= windowStart + pace.window else { return }
        for overflown in groups where overflown.hasOverflowed { ripen(overflown) }
    }

    private mutating func ripen(_ group: HeldGroup) {
        guard let own = groups.firstIndex(where: { $0.slot == group.slot }) else { return }
        guard let other = groups.firstIndex(where: { $0.isOfSameSort(as: group) && !$0.hasOverflowed }) else {
            groups[own].hasOverflowed = false
            return
        }
        groups[other].add(group)
        groups.remove(at: own)
    }

    /// What is part of the same push as a match that goes now. What else may go now need not wait for the next turn.
    private mutating func takeAlong(_ match: PaceMatch, _ pace: Pace, at now: Int64) -> [HeldGroup] {
        let ready = readyGroups(pace, at: now)
        guard !ready.isEmpty else { return [] }
        let along = match.mark == nil ? ready.filter { $0.mark == nil && $0.nature == match.nature } : []
        groups.removeAll { along.contains($0) }
        setDue(ready)
        return along
    }

    /// What nothing stands against, the oldest first.
    private func readyGroups(_ pace: Pace, at now: Int64) -> [HeldGroup] {
        groups.filter { obstacle(Turn(of: $0), pace, at: now) == nil }
            .sorted { ($0.since, $0.slot) < ($1.since, $1.slot) }
    }

    /// Those of them that still wait.
    private mutating func setDue(_ ready: [HeldGroup]) {
        for group in ready {
            guard let index = groups.firstIndex(where: { $0.slot == group.slot }) else { continue }
            groups[index].isDue = true
        }
    }

    /// What waits under that mark.
    private func index(of mark: Int64?) -> Int? {
        guard let mark else { return nil }
        return groups.firstIndex { $0.mark == mark }
    }

    /// What gives way to a match of another mark where there is no place for more that is no alert: the oldest of its
    /// nature, or else the oldest of all of them.
    private func indexToReplace(by match: PaceMatch) -> Int? {
        guard match.nature != .alert else { return nil }
        let others = groups.indices.filter { groups[$0].isKept(.silent) || groups[$0].isKept(.special) }
        guard others.count >= HeldGroup.slotsOfOthers else { return nil }
        let alike = others.filter { groups[$0].nature == match.nature }
        return (alike.isEmpty ? others : alike).min { groups[$0].since < groups[$1].since }
    }

    private func group(
        of match: PaceMatch,
        mark: Int64?,
        _ account: PublicKey,
        hasOverflowed: Bool,
        at now: Int64
    ) -> HeldGroup {
        HeldGroup(
            slot: freeSlot,
            nature: match.nature,
            mark: mark,
            madeAt: mark == nil ? 0 : match.madeAt,
            isMessage: match.signal == .dm,
            hasOverflowed: hasOverflowed,
            account: account,
            event: match.event,
            signal: match.signal,
            since: now,
            count: 1,
            mode: match.mode,
            urgency: match.urgency,
            expiresAt: match.expiresAt
        )
    }

    private var freeSlot: UInt8 {
        let taken = groups.map(\.slot)
        return (0..<UInt8(HeldKey.slots)).first { !taken.contains($0) } ?? 0
    }
}

extension HeldGroup {
    /// Whether it keeps the latest push of that nature.
    fileprivate func isKept(_ nature: PushNature) -> Bool { mark != nil && self.nature == nature }
}

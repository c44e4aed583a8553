import Delivery
import Nostr
import Notifications
import Registry

/// How one device is woken: what it was sent lately, and what waits for it. Knows no clock, no disk and no other device; all times
/// are in milliseconds since 1970.
package struct DevicePace: Hashable, Sendable {
    package enum Admission: Equatable, Sendable {
        /// It goes now, together with what waited and may go as well.
        case goes(with: [HeldGroup])
        case held(HoldReason, in: HeldGroup)
    }

    static let day: Int64 = 86_400_000

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
        let obstacle = obstacle(isMessage, hasOverflowed, pace, at: now)?.reason
        guard let reason = obstacle ?? (takesRoom() ? nil : .behind) else {
            return .goes(with: takeReady(pace, at: now))
        }
        if let index = groups.firstIndex(where: { $0.isMessage == isMessage && $0.hasOverflowed == hasOverflowed }) {
            groups[index].add(match)
            return .held(reason, in: groups[index])
        }
        let group = HeldGroup(
            slot: freeSlot,
            isMessage: isMessage,
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
        groups.append(group)
        return .held(reason, in: group)
    }

    /// Takes out what may go now; all of it is one push. `takesRoom` is asked if there is anything.
    mutating func takeReady(_ pace: Pace, at now: Int64, takesRoom: () -> Bool = { true }) -> [HeldGroup] {
        guard !groups.isEmpty else { return [] }
        settle(pace, at: now)
        let ready = groups.filter { obstacle($0.isMessage, $0.hasOverflowed, pace, at: now) == nil }
        guard !ready.isEmpty, takesRoom() else { return [] }
        groups.removeAll { ready.contains($0) }
        return ready.sorted { ($0.since, $0.slot) < ($1.since, $1.slot) }
    }

    /// Takes out what shall not be told any more.
    mutating func takeOut(where isDropped: (HeldGroup) -> Bool) -> [HeldGroup] {
        let dropped = groups.filter(isDropped)
        if !dropped.isEmpty { groups.removeAll { dropped.contains($0) } }
        return dropped
    }

    /// When anything that waits may go as far as is known now; nil: not before something else happens.
    func due(_ pace: Pace, at now: Int64) -> Int64? {
        let due = groups.map { obstacle($0.isMessage, $0.hasOverflowed, pace, at: now)?.until ?? now }.min()
        return due == .max ? nil : due
    }

    /// What stands against one more match that may not pass quiet hours.
    mutating func obstacle(to pace: Pace, at now: Int64) -> (until: Int64, reason: HoldReason)? {
        settle(pace, at: now)
        let isFull =
            pace.hasWindow && now < windowStart + pace.window && Int(matches) >= Pace.matchesBeforeBatch
        return obstacle(false, isFull, pace, at: now)
    }

    /// What stands against a group, as it waits now.
    mutating func obstacle(
        to group: HeldGroup,
        _ pace: Pace,
        at now: Int64
    ) -> (until: Int64, reason: HoldReason)? {
        settle(pace, at: now)
        return obstacle(group.isMessage, group.hasOverflowed, pace, at: now)
    }

    /// A push sets out.
    mutating func release(_ delivery: String, at now: Int64) {
        let today = Self.number(ofDay: now)
        if dayOfPushes != today {
            dayOfPushes = today
            pushes = 0
        }
        pushes += 1
        underWay = delivery
        releasedAt = now
    }

    /// The end of a delivery; false if it is not the one under way. One that failed counts for nothing.
    mutating func end(_ delivery: String, isDelivered: Bool, at now: Int64) -> Bool {
        guard underWay == delivery else { return false }
        if isDelivered {
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
    private func obstacle(
        _ isMessage: Bool,
        _ hasOverflowed: Bool,
        _ pace: Pace,
        at now: Int64
    ) -> (until: Int64, reason: HoldReason)? {
        // Whose pushes need no distance need not know how one ended before the next.
        guard underWay == nil || pace.cooldown == 0 else { return (.max, .underWay) }
        var (until, reason): (Int64, HoldReason?) = (now, nil)
        func wait(_ moment: Int64, _ why: HoldReason) {
            if moment > until { (until, reason) = (moment, why) }
        }
        wait(pushedAt + pace.cooldown, .cooldown)
        if hasOverflowed, pace.hasWindow { wait(windowStart + pace.window, .window) }
        if let cap = pace.dailyCap, dayOfPushes == Self.number(ofDay: now), pushes >= cap {
            wait((Int64(dayOfPushes) + 1) * Self.day, .cap)
        }
        if let quiet = pace.quiet, !(isMessage && quiet.letsDirectMessagesThrough), let end = quiet.end(at: until) {
            wait(end, .quiet)
        }
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
        guard !pace.hasWindow || now >= windowStart + pace.window else { return }
        for overflown in groups where overflown.hasOverflowed { ripen(overflown) }
    }

    private mutating func ripen(_ group: HeldGroup) {
        guard let own = groups.firstIndex(where: { $0.slot == group.slot }) else { return }
        guard let other = groups.firstIndex(where: { $0.isMessage == group.isMessage && !$0.hasOverflowed }) else {
            groups[own].hasOverflowed = false
            return
        }
        groups[other].add(group)
        groups.remove(at: own)
    }

    private var freeSlot: UInt8 {
        let taken = groups.map(\.slot)
        return (0..<UInt8(HeldGroup.slots)).first { !taken.contains($0) } ?? 0
    }
}

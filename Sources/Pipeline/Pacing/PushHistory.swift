import Core
import Delivery
import Nostr
import Push
import Rules

/// An event that should notify a device, with the properties that matter to the device's pace.
package struct PaceMatch: Sendable {
    let event: EventID
    let signal: Signal
    let mode: Mode
    let urgency: Urgency
    /// The expiry of the event (NIP-40) or its rule; the epoch means never.
    let expiresAt: Timestamp
    var pace = PushPace.batch
    let nature: PushNature
    /// A hash of the pace key. A later match with the same hash replaces a held one. Nil if all matches count.
    var mark: Int64?
    /// When the event was made, in seconds since 1970; only used with a mark.
    var madeAt: Int64 = 0

    package init(
        event: EventID,
        signal: Signal,
        mode: Mode,
        urgency: Urgency,
        expiresAt: Timestamp,
        nature: PushNature = .alert
    ) {
        self.event = event
        self.signal = signal
        self.mode = mode
        self.urgency = urgency
        self.expiresAt = expiresAt
        self.nature = nature
    }
}

/// The reason why a push to a device must wait, and until when.
struct Postponement: Equatable {
    /// The earliest end; the distant future if another event must happen first.
    let until: Timestamp
    let reason: HoldReason
}

/// The recent pushes to a device, which determine when the next one may be sent. It uses no clock, and no held groups.
struct PushHistory: Hashable, Sendable {
    /// The properties of a match or a group that determine when it may be sent.
    struct Turn {
        var nature = PushNature.alert
        var isMessage = false
        /// Whether its window already reached the limit of matches.
        var hasOverflowed = false
        /// Whether its turn started with another push.
        var isDue = false
    }

    static let day: Duration = .days(1)
    static let hour: Duration = .hours(1)

    /// When the last push was delivered; the epoch means never.
    private var pushedAt = Timestamp.epoch
    private var windowStart = Timestamp.epoch
    /// The number of matches in the window.
    private var matches: Int32 = 0
    /// The UTC day of ``pushes``, counted from 1970.
    private var dayOfPushes: Int32 = 0
    /// The number of pushes on that day.
    private(set) var pushes: Int32 = 0
    /// The delivery that was released last, until it ends. Without a cooldown earlier ones may still be in progress.
    /// Their ends are ignored, so only the last delivery can give its push back if it fails. If one turn has several
    /// pushes, the end of the last one counts.
    private(set) var underWay: DeliveryID?
    /// The number of consecutive deliveries that failed and stopped blocking the next. Placed here to use the padding
    /// after the id, because each device has one of these.
    private(set) var unblocked: Int32 = 0
    private var releasedAt = Timestamp.epoch
    /// When the last silent pushes were sent, up to the hourly limit. Empty if they are not limited.
    private var silentPushes: [Timestamp] = []

    init() {}

    init(_ row: PaceRow) {
        pushedAt = row.pushedAt
        windowStart = row.windowStart
        matches = row.matches
        dayOfPushes = row.dayOfPushes
        pushes = row.pushes
        underWay = row.underWay
        releasedAt = row.releasedAt
        unblocked = row.unblocked
        silentPushes = row.silentPushes
    }

    /// The row to store.
    func row(of device: DeviceID) -> PaceRow {
        PaceRow(
            device: device,
            pushedAt: pushedAt,
            windowStart: windowStart,
            matches: matches,
            dayOfPushes: dayOfPushes,
            pushes: pushes,
            underWay: underWay,
            releasedAt: releasedAt,
            unblocked: unblocked,
            silentPushes: silentPushes
        )
    }

    static func number(ofDay moment: Timestamp) -> Int32 {
        Int32(clamping: moment.milliseconds.flooredQuotient(by: 86_400_000))
    }

    /// The number of pushes on the UTC day of `now`.
    func pushes(onDayOf now: Timestamp) -> Int { dayOfPushes == Self.number(ofDay: now) ? Int(pushes) : 0 }

    /// The remaining pushes of the day.
    func pushesLeft(_ pace: Pace, at now: Timestamp) -> Int { pace.dailyCap.map { $0 - pushes(onDayOf: now) } ?? .max }

    /// The remaining silent pushes of the hour.
    func silentPushesLeft(_ pace: Pace, at now: Timestamp) -> Int {
        pace.backgroundPerHour.map { $0 - silentPushes.count(where: { $0 > now - Self.hour }) } ?? .max
    }

    /// The postponement that lasts longest; nil if the push may be sent now.
    func postponement(_ turn: Turn, _ pace: Pace, at now: Timestamp) -> Postponement? {
        // Without a cooldown, pushes do not wait for the end of the one before.
        guard underWay == nil || pace.cooldown == .zero || turn.isDue else {
            return Postponement(until: .distantFuture, reason: .underWay)
        }
        var (until, reason): (Timestamp, HoldReason?) = (now, nil)
        func wait(_ moment: Timestamp, _ why: HoldReason) {
            if moment > until { (until, reason) = (moment, why) }
        }
        if !turn.isDue { wait(pushedAt + pace.cooldown, .cooldown) }
        if turn.hasOverflowed, pace.hasWindow { wait(windowStart + pace.window, .window) }
        if let cap = pace.dailyCap, dayOfPushes == Self.number(ofDay: now), pushes >= cap {
            wait(.epoch + .days(Int(dayOfPushes) + 1), .cap)
        }
        if turn.nature == .silent, let limit = pace.backgroundPerHour, silentPushes.count >= limit {
            wait(silentPushes[silentPushes.count - limit] + Self.hour, .backgroundBudget)
        }
        if let end = pace.quietEnd(at: until, isMessage: turn.isMessage) { wait(end, .quiet) }
        return reason.map { Postponement(until: until, reason: $0) }
    }

    /// Whether the window that contains `now` has reached its limit of matches.
    func isWindowFull(_ pace: Pace, at now: Timestamp) -> Bool {
        isWindowOpen(pace, at: now) && Int(matches) >= Pace.matchesBeforeBatch
    }

    /// Whether a window that started before `now` is still open.
    func isWindowOpen(_ pace: Pace, at now: Timestamp) -> Bool { pace.hasWindow && now < windowStart + pace.window }

    /// Whether its state no longer matters to any pace.
    func isInert(at now: Timestamp) -> Bool {
        underWay == nil && dayOfPushes < Self.number(ofDay: now) && max(pushedAt, windowStart) < now - Self.day
    }

    /// Counts a match, and returns its turn.
    mutating func turn(of match: PaceMatch, _ pace: Pace, at now: Timestamp) -> Turn {
        Turn(nature: match.nature, isMessage: match.signal == .dm, hasOverflowed: count(pace, at: now))
    }

    /// Counts a match. Returns true if its window had reached the limit.
    private mutating func count(_ pace: Pace, at now: Timestamp) -> Bool {
        guard pace.hasWindow else { return false }
        if now >= windowStart + pace.window {
            windowStart = now
            matches = 0
        }
        if matches < Int32.max { matches += 1 }
        return Int(matches) > Pace.matchesBeforeBatch
    }

    /// Moves times that are later than `now` back to it, in case the clock was set back.
    mutating func settle(at now: Timestamp) {
        pushedAt = min(pushedAt, now)
        windowStart = min(windowStart, now)
        releasedAt = min(releasedAt, now)
        dayOfPushes = min(dayOfPushes, Self.number(ofDay: now))
        if let last = silentPushes.last, last > now { silentPushes = silentPushes.map { min($0, now) } }
    }

    /// Records that a push is sent.
    mutating func release(_ delivery: DeliveryID, _ nature: PushNature, _ pace: Pace, at now: Timestamp) {
        let today = Self.number(ofDay: now)
        if dayOfPushes != today {
            dayOfPushes = today
            pushes = 0
        }
        pushes += 1
        underWay = delivery
        releasedAt = now
        if nature == .silent, let limit = pace.backgroundPerHour {
            silentPushes = silentPushes.suffix(max(0, limit - 1)) + [now]
        }
    }

    /// Records the end of a delivery. Returns false if it is not the one in progress. A failed delivery does not count,
    /// but one that the push service refused does. Otherwise a device whose pushes are refused would have no pace.
    mutating func end(_ delivery: DeliveryID, counts: Bool, at now: Timestamp) -> Bool {
        guard underWay == delivery else { return false }
        if counts {
            underWay = nil
            pushedAt = now
            unblocked = 0
        } else {
            giveBack(at: now)
        }
        return true
    }

    /// Records that a delivery failed too often and no longer blocks others. Returns false if it is not the one in
    /// progress, or if too many did so in a row. Its later end does not count.
    mutating func stopBlocking(_ delivery: DeliveryID, at now: Timestamp) -> Bool {
        guard underWay == delivery, unblocked < PaceRow.maxUnblocked else { return false }
        unblocked += 1
        giveBack(at: now)
        return true
    }

    /// Handles a device that moved to another push service or target: failures of the former one no longer matter.
    /// Returns false if that changes nothing.
    mutating func move() -> Bool {
        guard underWay != nil || unblocked > 0 else { return false }
        unblocked = 0
        if underWay != nil { giveBack(at: releasedAt) }
        return true
    }

    /// Uncounts the push in progress.
    private mutating func giveBack(at now: Timestamp) {
        underWay = nil
        if Self.number(ofDay: min(releasedAt, now)) == dayOfPushes, pushes > 0 { pushes -= 1 }
    }
}

import Core
import Delivery
import Nostr
import Push
import Rules

/// An event that is to wake a device, with what matters to the device's pace.
package struct PaceMatch: Sendable {
    let event: EventID
    let signal: Signal
    let mode: Mode
    let urgency: Urgency
    /// When it expires by the event (NIP-40) or its rule; the epoch: never.
    let expiresAt: Timestamp
    var pace = PushPace.batch
    let nature: PushNature
    /// Shared by matches that replace each other; nil: all count.
    var mark: Int64?
    /// When the event was made, in seconds since 1970; of use with a mark alone.
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

/// What stands against a push to a device.
struct Obstacle: Equatable {
    /// Until when at the earliest; the distant future where something has to happen first.
    let until: Timestamp
    let reason: HoldReason
}

/// What a device was sent lately, and so when the next push may go. Knows no clock and nothing of what waits.
struct PushHistory: Hashable, Sendable {
    /// The properties of a match or a group that decide when it may go.
    struct Turn {
        var nature = PushNature.alert
        var isMessage = false
        /// Whether its window had enough matches already.
        var hasOverflowed = false
        /// Whether its turn has begun with another push.
        var isDue = false
    }

    static let day: Duration = .days(1)
    static let hour: Duration = .hours(1)

    /// When the last push was delivered; the epoch: never.
    private var pushedAt = Timestamp.epoch
    private var windowStart = Timestamp.epoch
    /// In the window.
    private var matches: Int32 = 0
    /// Counted in UTC days since 1970.
    private var dayOfPushes: Int32 = 0
    /// Of that day.
    private(set) var pushes: Int32 = 0
    /// The delivery that was released last, until its end is known. Without a cooldown earlier ones may be under way
    /// too. Their ends change nothing, so of those that fail only the last gives its push back. When one
    /// turn has several pushes, the end of the last one counts.
    private(set) var underWay: DeliveryID?
    /// How many deliveries in a row stood aside and let the next one go. Here it fits into what the id leaves free, and
    /// each device has one of these.
    private(set) var aside: Int32 = 0
    private var releasedAt = Timestamp.epoch
    /// When the last silent pushes set out, as many as an hour has; empty where nobody counts them.
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
        aside = row.aside
        silentPushes = row.silentPushes
    }

    /// What the disk keeps of it.
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
            aside: aside,
            silentPushes: silentPushes
        )
    }

    static func number(ofDay moment: Timestamp) -> Int32 {
        Int32(clamping: moment.milliseconds.flooredQuotient(by: 86_400_000))
    }

    /// The pushes of the UTC day that `now` lies in.
    func pushes(onDayOf now: Timestamp) -> Int { dayOfPushes == Self.number(ofDay: now) ? Int(pushes) : 0 }

    /// The pushes that the day has left.
    func pushesLeft(_ pace: Pace, at now: Timestamp) -> Int { pace.dailyCap.map { $0 - pushes(onDayOf: now) } ?? .max }

    /// The silent pushes that the hour has left.
    func silentPushesLeft(_ pace: Pace, at now: Timestamp) -> Int {
        pace.silentPerHour.map { $0 - silentPushes.count(where: { $0 > now - Self.hour }) } ?? .max
    }

    /// What stands longest against a push now; nil: nothing.
    func obstacle(_ turn: Turn, _ pace: Pace, at now: Timestamp) -> Obstacle? {
        // Pushes that need no distance do not wait for the end of the one before.
        guard underWay == nil || pace.cooldown == .zero || turn.isDue else {
            return Obstacle(until: .distantFuture, reason: .underWay)
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
        if turn.nature == .silent, let limit = pace.silentPerHour, silentPushes.count >= limit {
            wait(silentPushes[silentPushes.count - limit] + Self.hour, .silentBudget)
        }
        if let end = pace.quietEnd(at: until, isMessage: turn.isMessage) { wait(end, .quiet) }
        return reason.map { Obstacle(until: until, reason: $0) }
    }

    /// Whether the window that `now` lies in has had its matches.
    func isWindowFull(_ pace: Pace, at now: Timestamp) -> Bool {
        isWindowOpen(pace, at: now) && Int(matches) >= Pace.matchesBeforeBatch
    }

    /// Whether a window is open that began before `now`.
    func isWindowOpen(_ pace: Pace, at now: Timestamp) -> Bool { pace.hasWindow && now < windowStart + pace.window }

    /// Whether nothing of it can matter to any pace any more.
    func isInert(at now: Timestamp) -> Bool {
        underWay == nil && dayOfPushes < Self.number(ofDay: now) && max(pushedAt, windowStart) < now - Self.day
    }

    /// Counts a match, which may find its window full.
    mutating func turn(of match: PaceMatch, _ pace: Pace, at now: Timestamp) -> Turn {
        Turn(nature: match.nature, isMessage: match.signal == .dm, hasOverflowed: count(pace, at: now))
    }

    /// Counts a match; true when its window had enough.
    private mutating func count(_ pace: Pace, at now: Timestamp) -> Bool {
        guard pace.hasWindow else { return false }
        if now >= windowStart + pace.window {
            windowStart = now
            matches = 0
        }
        if matches < Int32.max { matches += 1 }
        return Int(matches) > Pace.matchesBeforeBatch
    }

    /// Nothing has happened later than now, whatever the clock said then.
    mutating func settle(at now: Timestamp) {
        pushedAt = min(pushedAt, now)
        windowStart = min(windowStart, now)
        releasedAt = min(releasedAt, now)
        dayOfPushes = min(dayOfPushes, Self.number(ofDay: now))
        if let last = silentPushes.last, last > now { silentPushes = silentPushes.map { min($0, now) } }
    }

    /// A push sets out.
    mutating func release(_ delivery: DeliveryID, _ nature: PushNature, _ pace: Pace, at now: Timestamp) {
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
    /// its push service refused does: otherwise a device whose pushes are refused would have no pace.
    mutating func end(_ delivery: DeliveryID, counts: Bool, at now: Timestamp) -> Bool {
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

    /// A delivery failed so often that the courier lets others pass; false if it is not the one under way, or if too
    /// many did so in a row. Its later end counts for nothing.
    mutating func standAside(_ delivery: DeliveryID, at now: Timestamp) -> Bool {
        guard underWay == delivery, aside < PaceRow.mostAside else { return false }
        aside += 1
        giveBack(at: now)
        return true
    }

    /// The device moved to another push service, or another place there. It no longer matters whether the former one is
    /// down, nor what waits for it. False if that changes nothing.
    mutating func move() -> Bool {
        guard underWay != nil || aside > 0 else { return false }
        aside = 0
        if underWay != nil { giveBack(at: releasedAt) }
        return true
    }

    /// The push under way counts for nothing.
    private mutating func giveBack(at now: Timestamp) {
        underWay = nil
        if Self.number(ofDay: min(releasedAt, now)) == dayOfPushes, pushes > 0 { pushes -= 1 }
    }
}

import Core
import Registry

/// How often one device may be woken: its preferences within the operator's bounds.
package struct Pace: Hashable, Sendable {
    /// Between the end of one push and the next one; zero: none.
    package internal(set) var cooldown: Duration = .zero
    /// Zero: none.
    package internal(set) var window: Duration = .zero
    /// Pushes a UTC day; nil: any number.
    package internal(set) var dailyCap: Int?
    package internal(set) var quiet: QuietHours?
    /// Silent pushes an hour; nil: as many as of anything else.
    package internal(set) var silentPerHour: Int?

    package init(
        cooldown: Duration = .zero,
        window: Duration = .zero,
        dailyCap: Int? = nil,
        quiet: QuietHours? = nil,
        silentPerHour: Int? = nil
    ) {
        self.cooldown = cooldown
        self.window = window
        self.dailyCap = dailyCap
        self.quiet = quiet
        self.silentPerHour = silentPerHour
    }

    /// How many matches of a window go before the rest of it waits (contrib/docs/pacing.md).
    static let matchesBeforeBatch = 3

    /// Whether it makes any difference.
    var isUnlimited: Bool { !isGathering && quiet == nil }

    /// Whether pushes are counted and follow each other at a distance.
    var isGathering: Bool { cooldown > .zero || window > .zero || dailyCap != nil || silentPerHour != nil }

    /// What a longer cooldown gathers needs no window.
    var hasWindow: Bool { window > cooldown }

    /// When the quiet hours end that hold an alert back at `moment`; nil: none do.
    func quietEnd(at moment: Timestamp, isMessage: Bool) -> Timestamp? {
        guard let quiet, !(isMessage && quiet.letsDirectMessagesThrough) else { return nil }
        return quiet.end(at: moment)
    }
}

/// The operator's pacing: defaults for devices without preferences, and the bounds of preferences.
package struct PacingPolicy: Sendable, Hashable {
    /// Other defaults for the devices of one push service; nil: as others.
    package struct PlatformDefaults: Sendable, Hashable {
        package var cooldown: Duration?
        package var window: Duration?
        package var dailyCap: Int?
        /// Silent pushes to a device in an hour; nil or 0: as many as of anything else.
        package var silentPerHour: Int?

        package init() {}
    }

    /// Zero: none.
    package var cooldown: Duration = .seconds(60)
    /// Zero: none.
    package var window: Duration = .seconds(30)
    /// Pushes a UTC day; 0: any number.
    package var dailyCap: Int = 100
    /// By platform name.
    package var platforms: [String: PlatformDefaults] = [:]
    /// A registration gets no shorter one.
    package var leastCooldown: Duration = .zero
    package var leastWindow: Duration = .zero
    /// A registration gets no more pushes a UTC day; 0: as many as it asks for.
    package var mostDailyCap: Int = 100

    package init() {}

    /// The same with a push service's own number of silent pushes where the operator names none.
    package func adding(silentPushesPerHour: [String: Int]) -> PacingPolicy {
        var policy = self
        for (platform, silent) in silentPushesPerHour {
            let stated = policy.platforms[platform]?.silentPerHour
            policy.platforms[platform, default: PlatformDefaults()].silentPerHour = stated ?? silent
        }
        return policy
    }

    /// The pace of a device of `platform` with those preferences. Bounds apply to preferences only, not to defaults.
    /// Without a cooldown every push is sent, silent ones as well. Preferences beyond the bounds are stored as they are
    /// and limited here, so that other bounds apply after a reload.
    package func pace(for preferences: PacePreferences, on platform: String) -> Pace {
        let batch = preferences.batch
        let own = platforms[platform] ?? PlatformDefaults()
        let cap =
            batch.dailyCap.map { mostDailyCap > 0 ? min($0, mostDailyCap) : $0 } ?? own.dailyCap ?? dailyCap
        let cooldown =
            batch.cooldown.map { max($0, leastCooldown) } ?? own.cooldown ?? cooldown
        let window = batch.window.map { max($0, leastWindow) } ?? own.window ?? window
        let silent = cooldown > .zero ? own.silentPerHour ?? 0 : 0
        return Pace(
            cooldown: cooldown,
            window: window,
            dailyCap: cap > 0 ? cap : nil,
            quiet: preferences.quiet,
            silentPerHour: silent > 0 ? silent : nil
        )
    }
}

extension QuietHours {
    private static let minute: Int64 = 60_000
    private static let minutesOfDay: Int64 = 1440

    /// When the quiet hours end that `moment` lies in; nil when it lies in none.
    ///
    /// It is quiet whenever the clock there shows a time between start and end. So a night in which clocks change is an
    /// hour shorter or longer, and an end that the clock leaps over is where it leaps.
    func end(at moment: Timestamp) -> Timestamp? {
        let minutes = moment.milliseconds.flooredQuotient(by: Self.minute)
        guard let left = minutesLeft(at: minutes) else { return nil }
        let change = nextChange(after: minutes, before: minutes + left)
        guard let change else { return Self.time(minutes + left) }
        guard let leftThen = minutesLeft(at: change) else { return Self.time(change) }
        return Self.time(change + leftThen)
    }

    private static func time(_ minute: Int64) -> Timestamp { Timestamp(milliseconds: minute * Self.minute) }

    /// How many minutes of quiet are left by the clock; nil for none. `minute` is since 1970.
    private func minutesLeft(at minute: Int64) -> Int64? {
        let local = (minute + ahead(at: minute)).flooredRemainder(by: Self.minutesOfDay)
        let sinceStart = (local - Int64(start.minutes)).flooredRemainder(by: Self.minutesOfDay)
        let length = Int64(end.minutes - start.minutes).flooredRemainder(by: Self.minutesOfDay)
        return sinceStart < length ? length - sinceStart : nil
    }

    private func ahead(at minute: Int64) -> Int64 { Int64(zone.minutesAhead(at: Self.time(minute))) }

    /// The first minute after `first` and before `last` at which the clock shows another time than expected; nil for
    /// none. Clocks change once a day at most.
    private func nextChange(after first: Int64, before last: Int64) -> Int64? {
        guard case .named = zone else { return nil }
        let before = ahead(at: first)
        var (low, high) = (first, last - 1)
        guard ahead(at: high) != before else { return nil }
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if ahead(at: middle) == before { low = middle } else { high = middle }
        }
        return high
    }
}

extension Int64 {
    /// Rounded down, also below zero; `divisor` is above zero.
    func flooredQuotient(by divisor: Int64) -> Int64 { (self - flooredRemainder(by: divisor)) / divisor }

    /// From 0 to `divisor`, which is above zero and not reached.
    func flooredRemainder(by divisor: Int64) -> Int64 {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}

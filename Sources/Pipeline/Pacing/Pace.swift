import Core
import Registry

/// The pace of one device: its preferences within the operator's bounds.
package struct Pace: Hashable, Sendable {
    /// The time between the end of one push and the next one; zero means none.
    package internal(set) var cooldown: Duration = .zero
    /// The length of the window; zero means none.
    package internal(set) var window: Duration = .zero
    /// Pushes per UTC day; nil means no limit.
    package internal(set) var dailyCap: Int?
    package internal(set) var quiet: QuietHours?
    /// Silent pushes per hour; nil means no separate limit.
    package internal(set) var backgroundPerHour: Int?

    package init(
        cooldown: Duration = .zero,
        window: Duration = .zero,
        dailyCap: Int? = nil,
        quiet: QuietHours? = nil,
        backgroundPerHour: Int? = nil
    ) {
        self.cooldown = cooldown
        self.window = window
        self.dailyCap = dailyCap
        self.quiet = quiet
        self.backgroundPerHour = backgroundPerHour
    }

    /// The number of matches in a window that are sent before the rest is held (contrib/docs/pacing.md).
    static let matchesBeforeBatch = 3

    /// Whether it limits no push at all.
    var isUnlimited: Bool { !isGathering && quiet == nil }

    /// Whether it counts or delays pushes.
    var isGathering: Bool { cooldown > .zero || window > .zero || dailyCap != nil || backgroundPerHour != nil }

    /// Whether the window has an effect. A longer cooldown makes it unnecessary.
    var hasWindow: Bool { window > cooldown }

    /// When the quiet hours end that hold back an alert at `moment`; nil if none do.
    func quietEnd(at moment: Timestamp, isMessage: Bool) -> Timestamp? {
        guard let quiet, !(isMessage && quiet.letsDirectMessagesThrough) else { return nil }
        return quiet.end(at: moment)
    }
}

/// The operator's pacing policy: defaults for devices without preferences, and bounds for preferences.
package struct PacingPolicy: Sendable, Hashable {
    /// Different defaults for the devices of one push service; nil means the general default.
    package struct PlatformDefaults: Sendable, Hashable {
        package var cooldown: Duration?
        package var window: Duration?
        package var dailyCap: Int?
        /// Silent pushes per hour and device; nil or 0 means no separate limit.
        package var backgroundPerHour: Int?

        package init() {}
    }

    /// Zero means none.
    package var cooldown: Duration = .seconds(60)
    /// Zero means none.
    package var window: Duration = .seconds(30)
    /// Pushes per UTC day; 0 means no limit.
    package var dailyCap: Int = 100
    /// By platform name.
    package var platforms: [String: PlatformDefaults] = [:]
    /// The minimum cooldown that a registration can request.
    package var leastCooldown: Duration = .zero
    package var leastWindow: Duration = .zero
    /// The maximum pushes per UTC day that a registration can request; 0 means no limit.
    package var maxDailyCap: Int = 100

    package init() {}

    /// Returns a copy with the push services' own limits of silent pushes for platforms without a setting of the
    /// operator.
    package func adding(silentPushesPerHour: [String: Int]) -> PacingPolicy {
        var policy = self
        for (platform, silent) in silentPushesPerHour {
            let stated = policy.platforms[platform]?.backgroundPerHour
            policy.platforms[platform, default: PlatformDefaults()].backgroundPerHour = stated ?? silent
        }
        return policy
    }

    /// Returns the pace of a device of `platform` with those preferences. Bounds apply only to preferences, not to
    /// defaults. Without a cooldown, silent pushes have no hourly limit. Preferences are stored unchanged and limited
    /// here, so that other bounds apply after a reload.
    package func pace(for preferences: PacePreferences, on platform: String) -> Pace {
        let batch = preferences.batch
        let own = platforms[platform] ?? PlatformDefaults()
        let cap =
            batch.dailyCap.map { maxDailyCap > 0 ? min($0, maxDailyCap) : $0 } ?? own.dailyCap ?? dailyCap
        let cooldown =
            batch.cooldown.map { max($0, leastCooldown) } ?? own.cooldown ?? cooldown
        let window = batch.window.map { max($0, leastWindow) } ?? own.window ?? window
        let silent = cooldown > .zero ? own.backgroundPerHour ?? 0 : 0
        return Pace(
            cooldown: cooldown,
            window: window,
            dailyCap: cap > 0 ? cap : nil,
            quiet: preferences.quiet,
            backgroundPerHour: silent > 0 ? silent : nil
        )
    }
}

extension QuietHours {
    private static let minute: Int64 = 60_000
    private static let minutesOfDay: Int64 = 1440

    /// Returns the end of the quiet hours that contain `moment`; nil if it is outside of them.
    ///
    /// It is quiet while the local clock shows a time between start and end. A night with a clock change is therefore
    /// an hour shorter or longer. If the clock skips the end, quiet hours end at the skip.
    func end(at moment: Timestamp) -> Timestamp? {
        let minutes = moment.milliseconds.flooredQuotient(by: Self.minute)
        guard let left = minutesLeft(at: minutes) else { return nil }
        let change = nextChange(after: minutes, before: minutes + left)
        guard let change else { return Self.time(minutes + left) }
        guard let leftThen = minutesLeft(at: change) else { return Self.time(change) }
        return Self.time(change + leftThen)
    }

    private static func time(_ minute: Int64) -> Timestamp { Timestamp(milliseconds: minute * Self.minute) }

    /// The minutes until the end by the local clock; nil if it is not quiet. `minute` counts from 1970.
    private func minutesLeft(at minute: Int64) -> Int64? {
        let local = (minute + ahead(at: minute)).flooredRemainder(by: Self.minutesOfDay)
        let sinceStart = (local - Int64(start.minutes)).flooredRemainder(by: Self.minutesOfDay)
        let length = Int64(end.minutes - start.minutes).flooredRemainder(by: Self.minutesOfDay)
        return sinceStart < length ? length - sinceStart : nil
    }

    private func ahead(at minute: Int64) -> Int64 { Int64(zone.minutesAhead(at: Self.time(minute))) }

    /// The first minute after `first` and before `last` with another time zone offset; nil if there is none. Clocks
    /// change at most once a day.
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
    /// The quotient rounded down, even for negative numbers. `divisor` must be positive.
    func flooredQuotient(by divisor: Int64) -> Int64 { (self - flooredRemainder(by: divisor)) / divisor }

    /// The remainder from 0 to `divisor` - 1. `divisor` must be positive.
    func flooredRemainder(by divisor: Int64) -> Int64 {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}

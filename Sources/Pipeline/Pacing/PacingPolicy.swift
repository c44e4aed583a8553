import Registry
import Rules
import Units

/// The operator's pacing: defaults for devices without preferences, and the bounds of preferences.
package struct PacingPolicy: Sendable, Hashable {
    /// Other defaults for the devices of one push service; nil: as others.
    package struct PlatformDefaults: Sendable, Hashable {
        package var cooldown: Duration?
        package var window: Duration?
        package var dailyCap: Int?
        /// Silent pushes to a device in an hour; nil or 0: as many as of anything else.
        package var silentPerHour: Int?

        package init(
            cooldown: Duration? = nil,
            window: Duration? = nil,
            dailyCap: Int? = nil,
            silentPerHour: Int? = nil
        ) {
            self.cooldown = cooldown
            self.window = window
            self.dailyCap = dailyCap
            self.silentPerHour = silentPerHour
        }
    }

    /// Zero: none.
    package var cooldown: Duration
    /// Zero: none.
    package var window: Duration
    /// Pushes a UTC day; 0: any number.
    package var dailyCap: Int
    /// By platform name.
    package var platforms: [String: PlatformDefaults]
    /// A registration gets no shorter one.
    package var leastCooldown: Duration
    package var leastWindow: Duration
    /// A registration gets no more pushes a UTC day; 0: as many as it asks for.
    package var mostDailyCap: Int

    /// What DESIGN section 7 names.
    package init(
        cooldown: Duration = .seconds(60),
        window: Duration = .seconds(30),
        dailyCap: Int = 100,
        platforms: [String: PlatformDefaults] = [:],
        leastCooldown: Duration = .zero,
        leastWindow: Duration = .zero,
        mostDailyCap: Int = 100
    ) {
        self.cooldown = cooldown
        self.window = window
        self.dailyCap = dailyCap
        self.platforms = platforms
        self.leastCooldown = leastCooldown
        self.leastWindow = leastWindow
        self.mostDailyCap = mostDailyCap
    }

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

import Registry
import Rules

/// The operator's pacing: defaults for devices without preferences, and the bounds of preferences.
package struct PacingPolicy: Sendable, Hashable {
    /// Other defaults for the devices of one push service; nil: as others.
    package struct PlatformDefaults: Sendable, Hashable {
        package var cooldownSeconds: Int?
        package var windowSeconds: Int?
        package var dailyCap: Int?
        /// Silent pushes to a device in an hour; nil or 0: as many as of anything else.
        package var silentPerHour: Int?

        package init(
            cooldownSeconds: Int? = nil,
            windowSeconds: Int? = nil,
            dailyCap: Int? = nil,
            silentPerHour: Int? = nil
        ) {
            self.cooldownSeconds = cooldownSeconds
            self.windowSeconds = windowSeconds
            self.dailyCap = dailyCap
            self.silentPerHour = silentPerHour
        }
    }

    /// 0: none.
    package var cooldownSeconds: Int
    /// 0: none.
    package var windowSeconds: Int
    /// Pushes a UTC day; 0: any number.
    package var dailyCap: Int
    /// By platform name.
    package var platforms: [String: PlatformDefaults]
    /// A registration gets no shorter one.
    package var leastCooldownSeconds: Int
    package var leastWindowSeconds: Int
    /// A registration gets no more pushes a UTC day; 0: as many as it asks for.
    package var mostDailyCap: Int

    /// What DESIGN section 7 names.
    package init(
        cooldownSeconds: Int = 60,
        windowSeconds: Int = 30,
        dailyCap: Int = 100,
        platforms: [String: PlatformDefaults] = [:],
        leastCooldownSeconds: Int = 0,
        leastWindowSeconds: Int = 0,
        mostDailyCap: Int = 100
    ) {
        self.cooldownSeconds = cooldownSeconds
        self.windowSeconds = windowSeconds
        self.dailyCap = dailyCap
        self.platforms = platforms
        self.leastCooldownSeconds = leastCooldownSeconds
        self.leastWindowSeconds = leastWindowSeconds
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
            batch.cooldownSeconds.map { max($0, leastCooldownSeconds) } ?? own.cooldownSeconds ?? cooldownSeconds
        let window = batch.windowSeconds.map { max($0, leastWindowSeconds) } ?? own.windowSeconds ?? windowSeconds
        let silent = cooldown > 0 ? own.silentPerHour ?? 0 : 0
        return Pace(
            cooldown: 1000 * Int64(cooldown),
            window: 1000 * Int64(window),
            dailyCap: cap > 0 ? cap : nil,
            quiet: preferences.quiet,
            silentPerHour: silent > 0 ? silent : nil
        )
    }
}

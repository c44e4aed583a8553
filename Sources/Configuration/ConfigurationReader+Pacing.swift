import Notifications
import Pipeline
import Rules
import YAMLReading

/// Reads what devices get that wish nothing, and how far their wishes are heard.
extension ConfigurationReader {
    /// Longer ones would hold a push beyond the day that its cap is counted for.
    static let longestPause = 86_400
    static let highestCap = 1_000_000

    static let mostSilentPerHour = 60

    /// `platforms` are those of the configured apps: rules may not know them all.
    func pacing(
        defaults: YAMLValue?,
        bounds: YAMLValue?,
        platforms: Set<String>
    ) -> (mode: Mode?, policy: PacingPolicy) {
        var policy = PacingPolicy()
        var mode: Mode?
        let platforms = platforms.union(PushServices.platforms).sorted()
        let keys = ["mode", "cooldown_seconds", "window_seconds", "daily_cap"]
        if let mapping = defaults?.mapping(keys: keys + platforms) {
            mode = mapping["mode"]?.choice(Mode.allCases.map(\.name)).flatMap { Mode(name: $0) }
            policy.cooldownSeconds = seconds(mapping["cooldown_seconds"]) ?? policy.cooldownSeconds
            policy.windowSeconds = seconds(mapping["window_seconds"]) ?? policy.windowSeconds
            policy.dailyCap = cap(mapping["daily_cap"]) ?? policy.dailyCap
            for platform in platforms {
                if let value = mapping[platform] { read(value, into: &policy.platforms[platform, default: .init()]) }
            }
        }
        if let mapping = bounds?.mapping(keys: ["cooldown_seconds", "window_seconds", "daily_cap"]) {
            policy.leastCooldownSeconds = seconds(mapping["cooldown_seconds"]) ?? policy.leastCooldownSeconds
            policy.leastWindowSeconds = seconds(mapping["window_seconds"]) ?? policy.leastWindowSeconds
            policy.mostDailyCap = cap(mapping["daily_cap"]) ?? policy.mostDailyCap
        }
        return (mode, policy)
    }

    private func read(_ value: YAMLValue, into defaults: inout PacingPolicy.PlatformDefaults) {
        let keys = ["cooldown_seconds", "window_seconds", "daily_cap", "background_per_hour"]
        guard let mapping = value.mapping(keys: keys) else { return }
        defaults.cooldownSeconds = seconds(mapping["cooldown_seconds"])
        defaults.windowSeconds = seconds(mapping["window_seconds"])
        defaults.dailyCap = cap(mapping["daily_cap"])
        defaults.silentPerHour =
            mapping["background_per_hour"]?.integer(in: 0...Self.mostSilentPerHour) ?? defaults.silentPerHour
    }

    private func seconds(_ value: YAMLValue?) -> Int? { value?.integer(in: 0...Self.longestPause) }

    private func cap(_ value: YAMLValue?) -> Int? { value?.integer(in: 0...Self.highestCap) }
}

import Notifications
import Pipeline
import YAMLReading

/// Reads what devices get that wish nothing, and how far their wishes are heard.
extension ConfigurationReader {
    /// Longer ones would hold a push beyond the day that its cap is counted for.
    static let longestPause = 86_400
    static let highestCap = 1_000_000

    func pacing(defaults: YAMLValue?, bounds: YAMLValue?) -> (mode: Mode?, policy: PacingPolicy) {
        var policy = PacingPolicy()
        var mode: Mode?
        if let mapping = defaults?.mapping(keys: ["mode", "cooldown_seconds", "window_seconds", "daily_cap"]) {
            mode = mapping["mode"]?.choice(Mode.allCases.map(\.name)).flatMap { Mode(name: $0) }
            policy.cooldownSeconds = seconds(mapping["cooldown_seconds"]) ?? policy.cooldownSeconds
            policy.windowSeconds = seconds(mapping["window_seconds"]) ?? policy.windowSeconds
            policy.dailyCap = cap(mapping["daily_cap"]) ?? policy.dailyCap
        }
        if let mapping = bounds?.mapping(keys: ["cooldown_seconds", "window_seconds", "daily_cap"]) {
            policy.leastCooldownSeconds = seconds(mapping["cooldown_seconds"]) ?? policy.leastCooldownSeconds
            policy.leastWindowSeconds = seconds(mapping["window_seconds"]) ?? policy.leastWindowSeconds
            policy.mostDailyCap = cap(mapping["daily_cap"]) ?? policy.mostDailyCap
        }
        return (mode, policy)
    }

    private func seconds(_ value: YAMLValue?) -> Int? { value?.integer(in: 0...Self.longestPause) }

    private func cap(_ value: YAMLValue?) -> Int? { value?.integer(in: 0...Self.highestCap) }
}

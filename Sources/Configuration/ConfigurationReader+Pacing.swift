import Core
import Pipeline
import Push
import Storage

/// Reads the default limits on the push rate of devices, and the range that a device may request.
extension ConfigurationReader {
    /// The maximum pause in seconds. Longer ones would delay a push beyond the day of its cap.
    static let longestPause = 86_400
    static let highestCap = 1_000_000

    static let maxSilentPerHour = 60

    /// Reads the block. A mapping among the defaults is for the platform of that name; only plugins know the platforms.
    func pacing(
        defaults: YAMLValue?,
        bounds: YAMLValue?
    ) -> (mode: Mode?, policy: PacingPolicy, platforms: [String: (line: Int, column: Int)]) {
        var policy = PacingPolicy()
        var mode: Mode?
        let keys = ["mode", "cooldown_seconds", "window_seconds", "daily_cap"]
        let members = defaults.flatMap { $0.isMapping ? $0.mapping()?.members : nil } ?? []
        let platforms = members.filter { $0.value.isMapping && !keys.contains($0.key) }.map(\.key)
        if let mapping = defaults?.mapping(keys: keys + platforms) {
            mode = mapping["mode"]?.choice(Mode.allCases.map(\.name)).flatMap { Mode(name: $0) }
            policy.cooldown = seconds(mapping["cooldown_seconds"]) ?? policy.cooldown
            policy.window = seconds(mapping["window_seconds"]) ?? policy.window
            policy.dailyCap = cap(mapping["daily_cap"]) ?? policy.dailyCap
            for platform in platforms {
                if let value = mapping[platform] { read(value, into: &policy.platforms[platform, default: .init()]) }
            }
        }
        if let mapping = bounds?.mapping(keys: ["cooldown_seconds", "window_seconds", "daily_cap"]) {
            policy.leastCooldown = seconds(mapping["cooldown_seconds"]) ?? policy.leastCooldown
            policy.leastWindow = seconds(mapping["window_seconds"]) ?? policy.leastWindow
            policy.maxDailyCap = cap(mapping["daily_cap"]) ?? policy.maxDailyCap
        }
        let places = members.filter { platforms.contains($0.key) }.map { ($0.key, $0.value.place) }
        return (mode, policy, Dictionary(places) { first, _ in first })
    }

    private func read(_ value: YAMLValue, into defaults: inout PacingPolicy.PlatformDefaults) {
        let keys = ["cooldown_seconds", "window_seconds", "daily_cap", "background_per_hour"]
        guard let mapping = value.mapping(keys: keys) else { return }
        defaults.cooldown = seconds(mapping["cooldown_seconds"])
        defaults.window = seconds(mapping["window_seconds"])
        defaults.dailyCap = cap(mapping["daily_cap"])
        defaults.backgroundPerHour =
            mapping["background_per_hour"]?.integer(in: 0...Self.maxSilentPerHour) ?? defaults.backgroundPerHour
    }

    private func seconds(_ value: YAMLValue?) -> Duration? {
        value?.integer(of: .seconds, in: 0...Self.longestPause).map { .seconds($0) }
    }

    private func cap(_ value: YAMLValue?) -> Int? { value?.integer(in: 0...Self.highestCap) }
}

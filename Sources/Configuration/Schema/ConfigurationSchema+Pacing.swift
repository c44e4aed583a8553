import Push
import Rules

extension ConfigurationSchema {
    static func pacing(_ catalog: PlatformCatalog) -> [SchemaParts.Member] {
        let seconds = 0...ConfigurationReader.longestPause
        let cap = 0...ConfigurationReader.highestCap
        return [
            (
                "defaults",
                SchemaParts.mapping(
                    "Defaults for registrations.",
                    [
                        (
                            "mode",
                            SchemaParts.choice(
                                "The mode of a device that requests none. Default: wake.",
                                Mode.allCases.map(\.name)
                            )
                        )
                    ] + defaults { "Default: \($0)" } + platforms(catalog)
                )
            ),
            (
                "bounds",
                SchemaParts.mapping(
                    "Limits on the settings that registrations may request.",
                    [
                        (
                            "cooldown_seconds",
                            SchemaParts.time("The shortest cooldown. Default: 0.", seconds)
                        ),
                        ("window_seconds", SchemaParts.time("The shortest window. Default: 0.", seconds)),
                        (
                            "daily_cap",
                            SchemaParts.integer(
                                "The most pushes per UTC day; 0: unlimited. Default: 100.",
                                cap
                            )
                        ),
                    ]
                )
            ),
        ]
    }

    /// Returns the keys; `otherwise` describes the default of a key.
    private static func defaults(otherwise: (_ number: Int) -> String) -> [SchemaParts.Member] {
        let seconds = 0...ConfigurationReader.longestPause
        return [
            (
                "cooldown_seconds",
                SchemaParts.time(
                    "The minimum time between two pushes to a device; 0: none. \(otherwise(60)).",
                    seconds
                )
            ),
            (
                "window_seconds",
                SchemaParts.time(
                    "The window in which the fourth and later events become one push; 0: none. \(otherwise(30)).",
                    seconds
                )
            ),
            (
                "daily_cap",
                SchemaParts.integer(
                    "The maximum number of pushes to a device per UTC day; 0: unlimited. \(otherwise(100)).",
                    0...ConfigurationReader.highestCap
                )
            ),
        ]
    }

    private static func platforms(_ catalog: PlatformCatalog) -> [SchemaParts.Member] {
        catalog.platforms.map { platform in
            let silent = catalog[platform]?.pushes.backgroundPerHour ?? 0
            let budget = SchemaParts.integer(
                "The maximum number of silent pushes to a device per hour; 0: unlimited. Default: \(silent).",
                0...ConfigurationReader.maxSilentPerHour
            )
            let members = defaults { _ in "Default: the setting for all platforms" } + [("background_per_hour", budget)]
            return (platform, SchemaParts.mapping("Defaults for devices of this platform.", members))
        }
    }
}

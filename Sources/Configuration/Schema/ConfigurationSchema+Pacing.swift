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
                    "What registrations get that say nothing.",
                    [
                        (
                            "mode",
                            SchemaParts.choice(
                                "The mode of a device that asked for none.",
                                Mode.allCases.map(\.name)
                            )
                        )
                    ] + defaults { "\($0) when left out" } + platforms(catalog)
                )
            ),
            (
                "bounds",
                SchemaParts.mapping(
                    "What registrations may ask for.",
                    [
                        (
                            "cooldown_seconds",
                            SchemaParts.integer("The shortest cooldown; 0 when left out.", seconds)
                        ),
                        ("window_seconds", SchemaParts.integer("The shortest window; 0 when left out.", seconds)),
                        (
                            "daily_cap",
                            SchemaParts.integer(
                                "The most pushes each UTC day; 0: any number. 100 when left out.",
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
                SchemaParts.integer("Between two pushes to a device; 0: none. \(otherwise(60)).", seconds)
            ),
            (
                "window_seconds",
                SchemaParts.integer(
                    "From the fourth event within it on they go as one push; 0: none. \(otherwise(30)).",
                    seconds
                )
            ),
            (
                "daily_cap",
                SchemaParts.integer(
                    "Pushes to a device each UTC day; 0: any number. \(otherwise(100)).",
                    0...ConfigurationReader.highestCap
                )
            ),
        ]
    }

    private static func platforms(_ catalog: PlatformCatalog) -> [SchemaParts.Member] {
        catalog.platforms.map { platform in
            let silent = catalog[platform]?.pushes.backgroundPerHour ?? 0
            let budget = SchemaParts.integer(
                "Background pushes to a device in an hour, which nobody sees; 0: any number. \(silent) when left out.",
                0...ConfigurationReader.mostSilentPerHour
            )
            let members = defaults { _ in "As on other platforms when left out" } + [("background_per_hour", budget)]
            return (platform, SchemaParts.mapping("What devices of this platform get instead.", members))
        }
    }
}

import Notifications
import Rules

extension ConfigurationSchema {
    static var pacing: [SchemaParts.Member] {
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
                        ),
                        (
                            "cooldown_seconds",
                            SchemaParts.integer("Between two pushes to a device; 0: none. 60 when left out.", seconds)
                        ),
                        (
                            "window_seconds",
                            SchemaParts.integer(
                                "From the fourth event within it on they go as one push; 0: none. 30 when left out.",
                                seconds
                            )
                        ),
                        (
                            "daily_cap",
                            SchemaParts.integer(
                                "Pushes to a device each UTC day; 0: any number. 100 when left out.",
                                cap
                            )
                        ),
                    ]
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
}

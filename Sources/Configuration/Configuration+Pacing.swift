import Core
import Pipeline
import Push
import Storage

extension Configuration {
    /// The defaults of registrations, and the limits on the settings that registrations may request.
    package struct Defaults: Sendable {
        /// The mode of a device that requests none.
        package var mode: Mode = .wake
        /// When and how often devices get pushes.
        package var pacing = PacingPolicy()
        /// The positions of platforms that have their own limits.
        package var places: [String: (line: Int, column: Int)] = [:]
    }
}

// MARK: The keys of the file

extension Configuration.Defaults {
    /// In seconds. Longer pauses would delay a push beyond the day of its cap.
    private static let pauses = 0...86_400
    private static let caps = 0...1_000_000

    /// The block `defaults`. A mapping in it is for the platform of that name; only plugins know the platforms.
    static var key: Key<Configuration> {
        Key(
            "defaults",
            schema: { standard, catalog in
                block(for: catalog.platforms.map { ($0, catalog[$0]?.pushes.backgroundPerHour ?? 0) })
                    .schema(standard, catalog)
            },
            read: { value, configuration, reader in
                let general = Set(block(for: []).names)
                let members = value.isMapping ? value.mapping()?.members ?? [] : []
                let platforms = members.filter { $0.value.isMapping && !general.contains($0.key) }
                configuration.defaults.places = Dictionary(platforms.map { ($0.key, $0.value.place) }) { first, _ in
                    first
                }
                return block(for: platforms.map { ($0.key, 0) }).read(value, into: &configuration, reader)
            }
        )
    }

    /// `platforms` have the maximum number of silent pushes per hour that their plugins state.
    private static func block(for platforms: [(name: String, silent: Int)]) -> Block<Configuration> {
        let modes = Mode.allCases.map(\.name)
        return Block("Defaults for registrations.") {
            Key("mode", \.defaults.mode, SchemaParts.choice(modes)) { value, _ in
                value.choice(modes).flatMap { Mode(name: $0) }
            }
            .about("The mode of a device that requests none. Default: wake.")
            pace(\.defaults.pacing.cooldown, \.defaults.pacing.window, \.defaults.pacing.dailyCap, "{default}")
            platforms.map { platform in
                Key.block(
                    platform.name,
                    \.defaults.pacing[defaultsOf: platform.name],
                    block(silentPerHour: platform.silent)
                )
            }
        }
    }

    private static func block(silentPerHour silent: Int) -> Block<PacingPolicy.PlatformDefaults> {
        Block("Defaults for devices of this platform.") {
            pace(\.cooldown, \.window, \.dailyCap, "the setting for all platforms")
            Key.integer("background_per_hour", \.backgroundPerHour, 0...60)
                .about("The maximum number of silent pushes to a device per hour; 0: unlimited. Default: \(silent).")
        }
    }

    /// Returns the keys of all platforms and of one; `standard` describes their default.
    @KeyList<Value>
    private static func pace<Value, Time: WholeNumber, Cap: WholeNumber>(
        _ cooldown: WritableKeyPath<Value, Time>,
        _ window: WritableKeyPath<Value, Time>,
        _ dailyCap: WritableKeyPath<Value, Cap>,
        _ standard: String
    ) -> [Key<Value>] {
        Key.integer("cooldown_seconds", cooldown, of: .seconds, pauses)
            .about("The minimum time between two pushes to a device; 0: none. Default: \(standard).")
        Key.integer("window_seconds", window, of: .seconds, pauses)
            .about("The window in which the fourth and later events become one push; 0: none. Default: \(standard).")
        Key.integer("daily_cap", dailyCap, caps)
            .about("The maximum number of pushes to a device per UTC day; 0: unlimited. Default: \(standard).")
    }

    /// The block `bounds`.
    static var bounds: Block<Configuration> {
        Block("Limits on the settings that registrations may request.") {
            Key.integer("cooldown_seconds", \.defaults.pacing.leastCooldown, of: .seconds, pauses)
                .about("The shortest cooldown. Default: {default}.")
            Key.integer("window_seconds", \.defaults.pacing.leastWindow, of: .seconds, pauses)
                .about("The shortest window. Default: {default}.")
            Key.integer("daily_cap", \.defaults.pacing.maxDailyCap, caps)
                .about("The most pushes per UTC day; 0: unlimited. Default: {default}.")
        }
    }
}

extension PacingPolicy {
    fileprivate subscript(defaultsOf platform: String) -> PlatformDefaults {
        get { platforms[platform] ?? PlatformDefaults() }
        set { platforms[platform] = newValue }
    }
}

/// By whose clock quiet hours count.
package enum QuietZone: Hashable, Sendable {
    /// A clock that never changes. Says less about where its owner is than a name does (seed 004 section 4).
    case offset(UTCOffset)
    case named(NamedZone)

    /// What `tz` of a registration has to be.
    static let expected =
        "an offset from UTC such as UTC+9, UTC-03:30, +05:45 or Z, or a time zone of the tz database such as Europe/Berlin"

    /// Reads an offset, or a name, whether or not `zones` know it.
    init?(_ text: String, in zones: TimeZones) {
        if let offset = UTCOffset(text) {
            self = .offset(offset)
        } else if let zone = zones.zone(named: text) {
            self = .named(zone)
        } else {
            return nil
        }
    }

    /// How far the clock is ahead of UTC, in minutes. `moment` is in milliseconds since 1970.
    package func minutesAhead(at moment: Int64) -> Int {
        switch self {
        case .offset(let offset): offset.minutes
        case .named(let zone): zone.minutesAhead(at: moment)
        }
    }
}

import Pipeline

/// How a device is woken now: what counts against it, and what waits for it.
package struct DevicePaceOverview: Codable, Sendable, Hashable {
    /// Nil: nothing limits them, so nobody counts.
    package var pushesToday: Int?
    /// How many events wait for it.
    package var held: Int
    /// When the next push could go, of what waits or else of what came now, RFC 3339 in UTC; nil: at once, or as soon as one that is
    /// under way has ended.
    package var nextPushAt: String?
    /// Why not at once, in words.
    package var reason: String?

    init(_ forecast: PaceForecast) {
        pushesToday = forecast.pushesToday
        held = forecast.held
        nextPushAt = forecast.next.at.map { UTCTime(milliseconds: $0).stamp }
        reason = forecast.next.reason.map { HoldWords.words($0, forecast.pace.quiet) }
    }

    var rows: [(String, String)] {
        [
            ("pushes today", pushesToday.map(String.init) ?? "not counted, as nothing limits them"),
            ("held", held == 0 ? "nothing" : "\(held)"),
            (
                "next push",
                [nextPushAt ?? (reason == nil ? "at once" : nil), reason].compactMap(\.self).joined(separator: ", ")
            ),
        ]
    }
}

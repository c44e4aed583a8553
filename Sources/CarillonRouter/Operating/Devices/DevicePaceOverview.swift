import Pipeline
import Registry

/// How a device is woken now: what counts against it, and what waits for it.
package struct DevicePaceOverview: Codable, Sendable, Hashable {
    package var pushesToday: Int
    /// How many matches wait for it.
    package var held: Int
    /// When a push that came now could go, RFC 3339 in UTC; nil: at once, or as soon as one that is under way has ended.
    package var nextPushAt: String?
    /// Why not at once, in words.
    package var reason: String?

    init(_ forecast: PaceForecast, _ quiet: QuietHours?) {
        pushesToday = forecast.pushesToday
        held = forecast.held
        nextPushAt = forecast.nextPushAt.map { UTCTime(milliseconds: $0).stamp }
        reason = forecast.reason.map { HoldWords.words($0, quiet) }
    }

    /// What waits and until when, completing the sentence "held: …".
    var waiting: String {
        [
            reason ?? "the device's turn is now",
            nextPushAt.map { "goes at \($0.prefix(10)) \($0.dropFirst(11).prefix(8)) UTC" },
            held > 1 ? "\(held) events wait" : nil,
        ]
        .compactMap(\.self).joined(separator: "; ")
    }

    var rows: [(String, String)] {
        [
            ("pushes today", "\(pushesToday)"), ("held", held == 0 ? "nothing" : "\(held)"),
            (
                "next push",
                [nextPushAt ?? (reason == nil ? "at once" : nil), reason].compactMap(\.self).joined(separator: ", ")
            ),
        ]
    }
}

import Console
import Pipeline
import Registry

/// Why a device is not woken now, in words that a person understands.
enum HoldWords {
    /// As in "quiet hours until 07:00 (Europe/Berlin)", where the device's are known.
    static func words(_ reason: HoldReason, _ quiet: QuietHours?) -> String {
        guard reason == .quiet, let quiet else { return reason.words }
        return "quiet hours until \(time(quiet.end)) (\(zone(quiet.zone)))"
    }

    /// What waits and until when, completing the sentence "held: …".
    static func words(_ group: PaceForecast.Group, _ quiet: QuietHours?) -> String {
        [
            group.turn.reason.map { words($0, quiet) } ?? "the device's turn is now",
            group.turn.at.map { "goes at \(UTCTime($0).words)" },
            group.count > 1 ? "\(group.count) events wait" : nil,
        ]
        .compactMap(\.self).joined(separator: "; ")
    }

    /// The same for programs.
    static func ending(_ group: PaceForecast.Group) -> EventExplanation.Ending {
        EventExplanation.Ending(
            step: PipelineStep.held.rawValue,
            reason: group.turn.reason?.rawValue,
            nextAt: group.turn.at.map { UTCTime($0).stamp },
            count: group.count
        )
    }

    /// As in "07:00".
    static func time(_ time: TimeOfDay) -> String { clock(time.minutes) }

    /// As in "Europe/Berlin" and "UTC+9".
    static func zone(_ zone: QuietZone) -> String {
        switch zone {
        case .offset(let offset): Self.offset(offset)
        case .named(let zone): zone.isKnown ? zone.name : "\(zone.name), which this machine's tzdata lacks: UTC"
        }
    }

    /// As in "UTC+9" and "UTC-03:30".
    static func offset(_ offset: UTCOffset) -> String {
        let minutes = abs(offset.minutes)
        guard minutes > 0 else { return "UTC" }
        let sign = offset.minutes < 0 ? "-" : "+"
        return "UTC\(sign)" + (minutes % 60 == 0 ? "\(minutes / 60)" : clock(minutes))
    }

    private static func clock(_ minutes: Int) -> String {
        [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}

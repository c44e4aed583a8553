import Pipeline
import Registry

/// Why a device is not woken now, in words that a person understands.
enum HoldWords {
    /// As in "quiet hours until 07:00 (UTC+9)".
    static func words(_ reason: HoldReason, _ quiet: QuietHours?) -> String {
        switch reason {
        case .cooldown: "the device was woken a moment ago"
        case .window: "the device was woken often in a short time"
        case .quiet: quiet.map { "quiet hours until \(time($0.end)) (\(offset($0.offset)))" } ?? "quiet hours"
        case .cap: "the device has had its pushes of the day (UTC)"
        case .underWay: "the last push to the device has not ended yet"
        }
    }

    private static func time(_ time: TimeOfDay) -> String { clock(time.minutes) }

    private static func offset(_ offset: UTCOffset) -> String {
        let minutes = abs(offset.minutes)
        guard minutes > 0 else { return "UTC" }
        let sign = offset.minutes < 0 ? "-" : "+"
        return "UTC\(sign)" + (minutes % 60 == 0 ? "\(minutes / 60)" : clock(minutes))
    }

    private static func clock(_ minutes: Int) -> String {
        [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}

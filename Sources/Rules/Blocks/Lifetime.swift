import YAMLReading

/// How long a push service may keep a notification for a device that is off (`expires`).
struct Lifetime: Sendable {
    /// FCM keeps nothing for longer than four weeks.
    static let range: ClosedRange<Int64> = 60_000...28 * 86_400_000

    private let milliseconds: Int64?

    /// Leaves that to the transport.
    init() {
        milliseconds = nil
    }

    init(reading rule: YAMLMapping) {
        guard let value = rule["expires"], let text = value.string() else {
            milliseconds = nil
            return
        }
        guard let span = TimeSpan.milliseconds(text), Self.range.contains(span) else {
            value.mistake("expected a time from 1m to 28d, such as 90s, 15m, 4h, 2d or 1d12h")
            milliseconds = nil
            return
        }
        milliseconds = span
    }

    /// When a push service should give up, in milliseconds since 1970, as is `now`; 0 leaves that to the transport, also
    /// when nobody knows what time it is.
    func end(from now: Int64) -> Int64 {
        guard let milliseconds, now > 0 else { return 0 }
        return now.addingReportingOverflow(milliseconds).partialValue
    }
}

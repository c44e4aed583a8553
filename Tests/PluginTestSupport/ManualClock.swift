import Core
import TimeTestSupport

extension ManualClock {
    /// Mon, 02 Feb 2026 02:40:00 GMT, the default start of a clock.
    package static let start = Timestamp(milliseconds: 1_770_000_000_000)
}

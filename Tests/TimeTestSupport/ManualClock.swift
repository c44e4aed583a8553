import Core
import Synchronization

/// A manual clock. The wall clock and the monotonic clock advance together.
package final class ManualClock: Sendable {
    private let milliseconds: Mutex<Int64>

    package init(_ start: Timestamp = Timestamp(milliseconds: 1_770_000_000_000)) {
        milliseconds = Mutex(start.milliseconds)
    }

    package var time: Timestamp {
        get { Timestamp(milliseconds: milliseconds.withLock { $0 }) }
        set { milliseconds.withLock { $0 = newValue.milliseconds } }
    }

    @Sendable package func now() -> Timestamp { time }

    @Sendable package func monotonic() -> Deadline { Deadline(milliseconds: time.milliseconds) }

    package func advance(by span: Duration) { time += span }
}

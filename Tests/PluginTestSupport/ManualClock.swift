import Synchronization

/// A clock that stands still until a test moves it.
package final class ManualClock: Sendable {
    /// Mon, 02 Feb 2026 02:40:00 GMT.
    package static let start: Int64 = 1_770_000_000_000
    package static let minute: Int64 = 60_000

    private let time = Mutex(ManualClock.start)

    package init() {}

    /// Milliseconds since 1970.
    package var now: Int64 { time.withLock { $0 } }

    package func advance(by milliseconds: Int64) {
        time.withLock { $0 += milliseconds }
    }
}

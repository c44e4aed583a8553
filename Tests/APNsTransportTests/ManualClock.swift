import Synchronization

/// A clock that stands still until a test moves it.
final class ManualClock: Sendable {
    static let start: Int64 = 1_770_000_000_000
    static let minute: Int64 = 60_000

    private let time = Mutex(ManualClock.start)

    /// Milliseconds since 1970.
    var now: Int64 { time.withLock { $0 } }

    func advance(by milliseconds: Int64) {
        time.withLock { $0 += milliseconds }
    }
}

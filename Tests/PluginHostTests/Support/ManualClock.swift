import Synchronization

/// A clock that stands still until told otherwise.
final class ManualClock: Sendable {
    private let time = Mutex<Int64>(1_000_000)

    var now: @Sendable () -> Int64 { { self.time.withLock(\.self) } }

    func advance(by milliseconds: Int64) { time.withLock { $0 += milliseconds } }
}

import Synchronization

/// Shows the time it was told.
final class ManualClock: Sendable {
    private let milliseconds: Mutex<Int64>

    init(_ milliseconds: Int64) {
        self.milliseconds = Mutex(milliseconds)
    }

    var now: Int64 {
        get { milliseconds.withLock { $0 } }
        set { milliseconds.withLock { $0 = newValue } }
    }
}

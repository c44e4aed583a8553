import Synchronization

/// Time that passes when a test says so, in milliseconds since 1970.
final class ManualClock: Sendable {
    private let time: Mutex<Int64>

    init(_ time: Int64) {
        self.time = Mutex(time)
    }

    @Sendable func now() -> Int64 { time.withLock { $0 } }

    func advance(by milliseconds: Int64) { time.withLock { $0 += milliseconds } }
}

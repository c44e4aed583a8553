import Synchronization

/// Lines for operators, written seldom: what a push service answers to every message must not fill the log. At most 256
/// subjects are distinguished.
public final class SeldomLog<Subject: Hashable & Sendable>: Sendable {
    private static var capacity: Int { 256 }

    private let host: Host
    private let quiet: Int64
    private let lastAt = Mutex<[Subject: Int64]>([:])

    /// Of one subject nothing more is said for `quiet` milliseconds; the default is an hour.
    public init(_ host: Host, quiet: Int64 = 3_600_000) {
        self.host = host
        self.quiet = quiet
    }

    /// Writes one line, unless one of that subject was written a while ago. `now` is in milliseconds since 1970; a
    /// clock that was set back ends the silence.
    public func log(_ subject: Subject, _ level: LogLevel, now: Int64, _ message: @autoclosure () -> String) {
        let isDue = lastAt.withLock { lastAt in
            if let last = lastAt[subject] {
                if (0..<quiet).contains(now - last) { return false }
            } else if lastAt.count >= Self.capacity {
                return false
            }
            lastAt[subject] = now
            return true
        }
        if isDue {
            host.log(level, message())
        }
    }
}

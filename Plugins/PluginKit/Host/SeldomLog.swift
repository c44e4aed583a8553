import Synchronization
import Units

/// Lines for operators, written seldom: what a push service answers to every message must not fill the log. At most 256
/// subjects are distinguished.
public final class SeldomLog<Subject: Hashable & Sendable>: Sendable {
    private static var capacity: Int { 256 }

    private let host: Host
    private let quiet: Duration?
    private let lastAt = Mutex<[Subject: Timestamp]>([:])

    /// Of one subject nothing more is said for `quiet`; nil: without limit.
    public init(_ host: Host, quiet: Duration? = .hours(1)) {
        self.host = host
        self.quiet = quiet
    }

    /// Writes one line, unless one of that subject was written a while ago. A clock that was set back ends
    /// the silence.
    public func log(_ subject: Subject, _ level: LogLevel, now: Timestamp, _ message: @autoclosure () -> String) {
        let isDue = lastAt.withLock { lastAt in
            if let last = lastAt[subject] {
                if now >= last, quiet.map({ now - last < $0 }) ?? true { return false }
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

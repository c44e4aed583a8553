import Glibc
import NIOCore
import Synchronization
import Units

/// Whether requests come so fast that they are better read together. Knows no clock.
struct RequestPace {
    /// So many in a window are many: 800 a second.
    static let many = 16
    static let window: Duration = .milliseconds(20)

    private var end: Deadline = .distantPast
    private var count = 0
    private var wereMany = false

    /// Notes a request. True: many came in the last window.
    mutating func note(at now: Deadline) -> Bool {
        if now >= end {
            // After a pause nothing of before counts.
            wereMany = count >= Self.many && now < end + Self.window
            (count, end) = (0, now + Self.window)
        }
        count += 1
        return wereMany
    }
}

/// Lets the loop of the API rest for a moment while many requests come that wait for others anyway, so that it reads
/// several at a time: to wake for each takes longer than to read it, and takes a core from whoever works there.
///
/// The loop sleeps, since nothing tells a selector to wait for more. It belongs to the API alone.
final class LoopRest: Sendable {
    private struct State {
        var pace = RequestPace()
        var isDue = false
    }

    private static let rest: Duration = .milliseconds(4)

    private let loop: any EventLoop
    private let now: @Sendable () -> Deadline
    private let sleep: @Sendable (Duration) -> Void
    private let state = Mutex(State())

    init(
        _ loop: any EventLoop,
        now: @escaping @Sendable () -> Deadline = Deadline.now,
        sleep: @escaping @Sendable (Duration) -> Void = { usleep(UInt32($0.milliseconds) * 1_000) }
    ) {
        self.loop = loop
        self.now = now
        self.sleep = sleep
    }

    /// A request is read that is answered together with others.
    func note() {
        let isDue = state.withLock { state in
            guard state.pace.note(at: now()), !state.isDue else { return false }
            state.isDue = true
            return true
        }
        guard isDue else { return }
        // After those that were read with this one.
        loop.execute { [self] in
            state.withLock { $0.isDue = false }
            sleep(Self.rest)
        }
    }
}

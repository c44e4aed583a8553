import CSemaphore
import Glibc
import Units

/// How many events the pipeline takes at a time. A pure rule.
///
/// What comes of a portion can be sent while the next one is worked on, so portions are small. But each waits for the
/// disk once: where that takes longer than a tenth or so of the work, they grow, and become small again when the disk
/// is quick.
struct PortionSize {
    /// They grow to so many times the least.
    private static let growth = 16
    /// Only what so many portions in a row show counts: any disk stands still now and then.
    private static let proof = 4
    /// The share of a portion's time beyond which they grow, and below which they shrink. Half as large ones wait for
    /// almost twice the share, which must not make them grow again.
    private static let (largest, smallest) = (0.2, 0.06)

    private let least: Int
    /// How many events the next portion has.
    private(set) var events: Int
    /// How many portions in a row have waited long, and how many hardly at all.
    private var (slow, quick) = (0, 0)

    init(least: Int) {
        self.least = max(1, least)
        events = self.least
    }

    /// A portion of so many events took `time`, with a wait of `wait` for the disk in it.
    mutating func took(_ time: Duration, waiting wait: Duration, for count: Int) {
        // A smaller one shows how few events came, not how slow the disk is.
        guard count >= events, time > .zero else { return }
        let share = wait / time
        slow = share > Self.largest ? slow + 1 : 0
        quick = share < Self.smallest ? quick + 1 : 0
        if slow == Self.proof, events < least * Self.growth {
            events *= 2
            slow = 0
        } else if quick == Self.proof, events > least {
            events /= 2
            quick = 0
        }
        (slow, quick) = (slow % Self.proof, quick % Self.proof)
    }
}

/// Says how long something took, and how long of that this thread did nothing.
package struct WaitWatch: Sendable {
    /// On a clock that only goes forward.
    let time: @Sendable () -> Duration
    /// How long this thread has been on a core so far.
    let work: @Sendable () -> Duration

    /// The system's.
    package static let system = WaitWatch(time: { read(CLOCK_MONOTONIC) }, work: { read(CLOCK_THREAD_CPUTIME_ID) })

    /// Runs `body`; returns how long it waited meanwhile, for the disk mostly.
    func waiting(_ body: () -> Void) -> Duration {
        let (begin, before) = (time(), work())
        body()
        return max(.zero, (time() - begin) - (work() - before))
    }

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

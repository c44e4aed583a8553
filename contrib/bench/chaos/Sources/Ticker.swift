import Synchronization

/// Shows the progress of a run from time to time.
final class Ticker: Sendable {
    private let interval: Duration
    private let say: @Sendable (String) -> Void
    private let next: Mutex<ContinuousClock.Instant>

    init(every seconds: Int, _ say: @escaping @Sendable (String) -> Void) {
        interval = .seconds(seconds)
        self.say = say
        next = Mutex(ContinuousClock.now + interval)
    }

    func tick(_ ended: Int, of total: Int) {
        let now = ContinuousClock.now
        let isDue = next.withLock { next in
            guard now >= next else { return false }
            next = now + interval
            return true
        }
        if isDue { say("\(ended) of \(total) deliveries have ended") }
    }
}

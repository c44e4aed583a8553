import Foundation
import Synchronization
import Units
import WakeUps

/// The thread that starts a process again when that is due.
final class RestartKeeper: Sendable {
    /// What there is to do.
    enum Next: Sendable {
        /// Start it at this moment, unless there is something else to do by then; nil: nothing.
        case restart(at: Deadline?)
        /// The thread may end.
        case end
    }

    private let isStarted = Atomic(false)
    private let news = MonotonicSemaphore()
    private let now: @Sendable () -> Deadline

    init(now: @escaping @Sendable () -> Deadline) { self.now = now }

    /// Starts the thread, unless it has been started. It asks `next` again after each ``wake()``.
    func start(_ next: @escaping @Sendable () -> Next, restart: @escaping @Sendable () -> Void) {
        guard !isStarted.exchange(true, ordering: .relaxed) else { return }
        let thread = Thread { [self] in keep(next, restart) }
        thread.name = "plugin-keeper"
        thread.start()
    }

    private func keep(_ next: () -> Next, _ restart: () -> Void) {
        while case .restart(let due) = next() {
            let now = now()
            if let due, due <= now {
                restart()
            } else if let due {
                _ = news.wait(until: .now() + (due - now))
            } else {
                _ = news.wait(until: nil)
            }
        }
    }

    /// There may be something else to do.
    func wake() { news.signal() }
}

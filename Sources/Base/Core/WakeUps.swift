import CSemaphore
import Glibc

/// Wake-ups of other threads, put off until the work at hand on this thread is done.
///
/// Who hands over many things one after the other wakes the receiver with the first: that takes this one alone, and
/// sleeps and is woken again for every few of the rest. Within ``together(_:)`` it is woken once, and finds them all.
package enum WakeUps {
    private final class Pending {
        var actions: [() -> Void] = []
    }

    /// Where a thread has its ``Pending``, while it has one; nil: this system gives no more such places.
    private static let place: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Runs `body`, and after it the actions of all ``ask(_:)`` within. What `body` waits for must not depend on them.
    package static func together(_ body: () -> Void) {
        guard let place, pthread_getspecific(place) == nil else { return body() }
        let pending = Pending()
        withExtendedLifetime(pending) {
            guard pthread_setspecific(place, Unmanaged.passUnretained(pending).toOpaque()) == 0 else { return body() }
            body()
            pthread_setspecific(place, nil)
        }
        for action in pending.actions { action() }
    }

    /// Runs `action`, which wakes somebody: at once, or at the end of ``together(_:)`` if this thread is inside.
    package static func ask(_ action: @escaping () -> Void) {
        guard let place, let pointer = pthread_getspecific(place) else { return action() }
        Unmanaged<Pending>.fromOpaque(pointer).takeUnretainedValue().actions.append(action)
    }
}

/// A semaphore that waits by a clock nobody can set. A `DispatchSemaphore` waits for a time of day on Linux: where the
/// clock is put back meanwhile, it sleeps for longer by as much.
///
/// `@unchecked Sendable`: the system's semaphore is made for many threads, and it never moves.
package final class MonotonicSemaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    package init() {
        // Within a process and at zero it cannot fail.
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Lets one wait end, the next one if nobody waits. Any thread.
    package func signal() {
        sem_post(semaphore)
    }

    /// Waits for a signal until `deadline`; nil: however long it takes. False when none came.
    package func wait(until deadline: Deadline?) -> Bool {
        while true {
            let result: Int32
            if var time = deadline.map(timespec.init) {
                result = sem_clockwait(semaphore, CLOCK_MONOTONIC, &time)
            } else {
                result = sem_wait(semaphore)
            }
            if result == 0 { return true }
            guard errno == EINTR else { return false }
        }
    }
}

extension timespec {
    /// A moment as the system's calls want it.
    fileprivate init(_ deadline: Deadline) {
        let milliseconds = max(0, deadline.milliseconds)
        self.init(tv_sec: Int(milliseconds / 1_000), tv_nsec: Int(milliseconds % 1_000 * 1_000_000))
    }
}

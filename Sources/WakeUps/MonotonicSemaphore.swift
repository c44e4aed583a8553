import CSemaphore
import Glibc
import Units

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

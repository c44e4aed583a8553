import CSemaphore
import Glibc

/// A semaphore that waits by a clock nobody can set. A `DispatchSemaphore` waits for a time of day on Linux: where the
/// clock is put back meanwhile, it sleeps for longer by as much.
///
/// `@unchecked Sendable`: the system's semaphore is made for many threads, and it never moves.
final class MonotonicSemaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() {
        // Within a process and at zero it cannot fail.
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Lets one wait end, the next one if nobody waits. Any thread.
    func signal() {
        sem_post(semaphore)
    }

    /// Waits for a signal until `deadline`; nil: however long it takes. False when none came.
    func wait(until deadline: MonotonicTime?) -> Bool {
        while true {
            let result: Int32
            if var time = deadline?.time {
                result = sem_clockwait(semaphore, CLOCK_MONOTONIC, &time)
            } else {
                result = sem_wait(semaphore)
            }
            if result == 0 { return true }
            guard errno == EINTR else { return false }
        }
    }
}

/// A moment by a clock nobody can set, as the system's calls want it.
struct MonotonicTime: Sendable {
    let time: timespec

    /// That many milliseconds from now.
    init(in milliseconds: Int64) {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let wait = max(0, milliseconds)
        let nanoseconds = Int64(time.tv_nsec) + wait % 1_000 * 1_000_000
        let seconds = Int64(time.tv_sec) + wait / 1_000 + nanoseconds / 1_000_000_000
        self.time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}

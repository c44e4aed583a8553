import CSemaphore
import Glibc

/// Wake-ups of other threads, postponed until this thread has finished its current work.
///
/// A thread that queues many items wakes the receiver with the first one. The receiver then processes only that item,
/// sleeps, and is woken again for every few of the rest. Within ``together(_:)`` it is woken once, and finds all items.
package enum WakeUps {
    private final class Pending {
        var actions: [() -> Void] = []
    }

    /// The thread-local key for a thread's ``Pending``; nil: the system has no more keys.
    private static let place: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Runs `body`, and then the actions of all ``ask(_:)`` calls in it. `body` must not wait for these actions.
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

    /// Runs `action`, which wakes another thread: immediately, or at the end of ``together(_:)`` if this thread is
    /// inside it.
    package static func ask(_ action: @escaping () -> Void) {
        guard let place, let pointer = pthread_getspecific(place) else { return action() }
        Unmanaged<Pending>.fromOpaque(pointer).takeUnretainedValue().actions.append(action)
    }
}

/// A semaphore that waits by the monotonic clock. On Linux, a `DispatchSemaphore` waits for a wall-clock time: if the
/// clock is set back while it waits, it sleeps longer by that amount.
///
/// `@unchecked Sendable`: the system's semaphore is thread-safe, and it never moves in memory.
package final class MonotonicSemaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    package init() {
        // This cannot fail for a process-private semaphore with value zero.
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Ends one wait, or the next one if no thread waits. Callable from any thread.
    package func signal() {
        sem_post(semaphore)
    }

    /// Waits for a signal until `deadline`; nil: without a timeout. Returns false on a timeout.
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
    /// A moment in the format of system calls.
    fileprivate init(_ deadline: Deadline) {
        let milliseconds = max(0, deadline.milliseconds)
        self.init(tv_sec: Int(milliseconds / 1_000), tv_nsec: Int(milliseconds % 1_000 * 1_000_000))
    }
}

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

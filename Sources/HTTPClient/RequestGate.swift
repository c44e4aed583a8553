import Core
import Synchronization

/// A gate that stops requests of a clustered router whose leases have expired. If the router stalls, other members take
/// over, and its waiting requests must not be sent when it resumes.
///
/// Check ``isOpen`` just before the bytes of a request are written, because a thread can stall anywhere before.
package final class RequestGate: Sendable {
    /// How long after reopening the gate stays closed: a plugin may still send requests for work that was given up.
    private static let rest: Duration = .seconds(1)

    private let now: @Sendable () -> Deadline
    /// When the gate closes, in milliseconds of `now`, because a `Deadline` cannot be atomic.
    private let closesAt = Atomic<Int64>(Deadline.distantFuture.milliseconds)
    /// When the gate opens, in the same unit.
    private let opensAt = Atomic<Int64>(Deadline.distantPast.milliseconds)

    /// An open gate. `now` must not stop while the machine sleeps.
    package init(now: @escaping @Sendable () -> Deadline) {
        self.now = now
    }

    package var isOpen: Bool {
        let time = now().milliseconds
        return time < closesAt.load(ordering: .acquiring) && time >= opensAt.load(ordering: .acquiring)
    }

    /// Closes the gate at `end` unless this is called again before; `distantFuture`: never. Do not call it
    /// concurrently.
    package func close(at end: Deadline) {
        let time = now()
        if closesAt.load(ordering: .relaxed) <= time.milliseconds {
            opensAt.store((time + Self.rest).milliseconds, ordering: .releasing)
        }
        closesAt.store(end.milliseconds, ordering: .releasing)
    }
}

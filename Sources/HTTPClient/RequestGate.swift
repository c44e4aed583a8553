import Core
import Synchronization

/// Whether requests may begin now. A router that shares its work with others may send as long as its leases last; while it stands still,
/// others take over, and what waited here must not go out when it wakes up.
///
/// The check comes just before a request or a stream's bytes are written, as a thread can stop at any place before.
package final class RequestGate: Sendable {
    /// So long after it was closed it stays so: requests for work that is given up meanwhile may still be on their way
    /// from a plugin.
    private static let rest: Duration = .seconds(1)

    private let now: @Sendable () -> Deadline
    /// Milliseconds on that clock, as a `Deadline` cannot be atomic. Nothing begins from here on.
    private let closesAt = Atomic<Int64>(Deadline.distantFuture.milliseconds)
    /// Nothing begins before that.
    private let opensAt = Atomic<Int64>(Deadline.distantPast.milliseconds)

    /// An open gate. `now` must not stop while the machine sleeps.
    package init(now: @escaping @Sendable () -> Deadline) {
        self.now = now
    }

    package var isOpen: Bool {
        let time = now().milliseconds
        return time < closesAt.load(ordering: .acquiring) && time >= opensAt.load(ordering: .acquiring)
    }

    /// Closes the gate at `end` unless this is called again before; `distantFuture`: never. Not to be called from
    /// several threads at once.
    package func close(at end: Deadline) {
        let time = now()
        if closesAt.load(ordering: .relaxed) <= time.milliseconds {
            opensAt.store((time + Self.rest).milliseconds, ordering: .releasing)
        }
        closesAt.store(end.milliseconds, ordering: .releasing)
    }
}

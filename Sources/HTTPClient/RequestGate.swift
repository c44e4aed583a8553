import Core
import Synchronization

/// Whether requests may start now. A clustered router may send while its leases last. If it stalls, others take over,
/// and its waiting requests must not be sent when it resumes.
///
/// The check comes just before a request or a stream's bytes are written, because a thread can stall anywhere before.
package final class RequestGate: Sendable {
    /// The delay before a closed gate reopens: requests for work that was given up may still arrive from a plugin.
    private static let rest: Duration = .seconds(1)

    private let now: @Sendable () -> Deadline
    /// Milliseconds on that clock, because a `Deadline` cannot be atomic. No request starts from this time on.
    private let closesAt = Atomic<Int64>(Deadline.distantFuture.milliseconds)
    /// No request starts before this time.
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

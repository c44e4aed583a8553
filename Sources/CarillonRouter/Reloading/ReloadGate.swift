import Synchronization

/// Lets one reload in at a time.
final class ReloadGate: Sendable {
    private let isTaken = Atomic<Bool>(false)

    /// False while another one is under way.
    func enter() -> Bool { !isTaken.exchange(true, ordering: .acquiringAndReleasing) }

    func leave() { isTaken.store(false, ordering: .releasing) }
}

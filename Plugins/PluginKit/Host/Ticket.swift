import Synchronization

/// The promise to end one delivery. The first ``complete(_:)`` counts, later ones do nothing, and a ticket that nobody
/// holds any more without having completed it ends as a retry: so every accepted delivery ends exactly once.
public final class Ticket: Sendable {
    /// What the host calls it; never repeats.
    public let number: UInt64
    private let host: Host
    private let isOpen = Atomic(true)

    package init(_ number: UInt64, host: Host) {
        self.number = number
        self.host = host
    }

    deinit {
        complete(Outcome(.retry, reason: "abandoned"))
    }

    /// Ends the delivery.
    public func complete(_ outcome: Outcome) {
        guard close() else { return }
        host.complete(number, outcome)
    }

    /// Closes the ticket of a delivery that was not accepted; false when it was completed already.
    func withdraw() -> Bool { close() }

    private func close() -> Bool {
        isOpen.exchange(false, ordering: .acquiringAndReleasing)
    }
}

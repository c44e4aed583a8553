import Nostr
import RelayPool

/// Brings events of our own to other relays.
protocol EventPublisher: Sendable {
    /// Publishes `event` at each of `relays` and returns at once. Calls `completion` once, on any thread, with what became of
    /// it at each.
    func publish(_ event: Event, to relays: [RelayURL], completion: (@Sendable ([RelayURL: PublishResult]) -> Void)?)
}

extension RelayPool: EventPublisher {}

import NIOConcurrencyHelpers
import Nostr

/// Collects the results of publishing one event and tells them together, once.
final class PublishTally: Sendable {
    private struct State {
        var open: Set<RelayURL>
        var results: [RelayURL: PublishResult] = [:]
    }

    let event: Event
    private let state: NIOLockedValueBox<State>
    private let completion: @Sendable ([RelayURL: PublishResult]) -> Void

    init(
        event: Event,
        relays: Set<RelayURL>,
        completion: @escaping @Sendable ([RelayURL: PublishResult]) -> Void
    ) {
        self.event = event
        self.state = NIOLockedValueBox(State(open: relays))
        self.completion = completion
    }

    /// What comes twice for a relay counts once.
    func add(_ result: PublishResult, from relay: RelayURL) {
        let complete = state.withLockedValue { state -> [RelayURL: PublishResult]? in
            guard state.open.remove(relay) != nil else { return nil }
            state.results[relay] = result
            return state.open.isEmpty ? state.results : nil
        }
        if let complete { completion(complete) }
    }
}

import NIOConcurrencyHelpers
import Nostr

/// Waits for the relays that were asked for stored events and says once that all have answered, or that time is up.
final class FetchTally: Sendable {
    let filters: [Filter]
    /// How long each relay has, in milliseconds.
    let time: Int64
    private let state: NIOLockedValueBox<(open: Set<RelayURL>, isAnswered: Bool)>
    private let completion: @Sendable (_ isAnswered: Bool) -> Void

    init(
        filters: [Filter],
        relays: Set<RelayURL>,
        time: Int64,
        completion: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        self.filters = filters
        self.time = time
        self.state = NIOLockedValueBox((relays, false))
        self.completion = completion
    }

    /// A relay says that it has nothing more for this.
    func noteAnswer() { state.withLockedValue { $0.isAnswered = true } }

    /// `relay` is waited for no longer.
    func end(_ relay: RelayURL) {
        let (isLast, isAnswered) = state.withLockedValue { state in
            (state.open.remove(relay) != nil && state.open.isEmpty, state.isAnswered)
        }
        if isLast { completion(isAnswered) }
    }
}

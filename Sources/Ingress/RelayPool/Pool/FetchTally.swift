import NIOConcurrencyHelpers
import Nostr

/// Waits for the relays that were asked for stored events and says once that all have answered, or that time is up.
final class FetchTally: Sendable {
    let filters: [Filter]
    /// How long each relay has, in milliseconds.
    let time: Int64
    private let open: NIOLockedValueBox<Set<RelayURL>>
    private let completion: @Sendable () -> Void

    init(
        filters: [Filter],
        relays: Set<RelayURL>,
        time: Int64,
        completion: @escaping @Sendable () -> Void
    ) {
        self.filters = filters
        self.time = time
        self.open = NIOLockedValueBox(relays)
        self.completion = completion
    }

    /// `relay` has nothing more for this.
    func end(_ relay: RelayURL) {
        let isLast = open.withLockedValue { $0.remove(relay) != nil && $0.isEmpty }
        if isLast { completion() }
    }
}

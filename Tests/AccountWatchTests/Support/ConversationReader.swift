import Nostr
import Units

@testable import RelayPool

/// Holds the conversation that a relay with nothing stored has with the relay pool, and notes what it was asked for.
struct ConversationReader {
    private var session = RelaySession(settings: SessionSettings(ownKeys: [.sample(9_999)]))
    private(set) var filters: [Filter] = []

    /// Watches what `changes` say, then connects. `mark` is in seconds since 1970.
    mutating func read(_ changes: [WatchChange], mark: Int64?, now: Timestamp) {
        var actions = session.update(changes, now: now)
        actions += session.connected(limitation: RelayLimitation(), mark: mark, now: now)
        for step in 0..<100 {
            var next = session.tick(now: now + .seconds(step))
            for case .send(.request(let id, let asked)) in actions {
                filters += asked
                next += session.receive(.endOfStoredEvents(id), now: now + .seconds(step))
            }
            actions = next
        }
    }

    /// From when on stored events that are no gift wraps and name `key` were asked for, in seconds since 1970.
    func oldest(naming key: PublicKey) -> Int64? {
        filters.filter { filter in
            filter.limit ?? 2 > 1 && filter.tags.values.contains { $0.contains(key.hex) }
                && !(filter.kinds?.contains(.giftWrap) ?? false)
        }.compactMap(\.since).min()
    }
}

/// What an author takes back: single events (kind 5, NIP-09), or everything so far (kind 62, NIP-62). Concerns only the
/// author's own events.
package struct Deletion: Hashable, Sendable {
    package enum Scope: Hashable, Sendable {
        /// These, and what was at these addresses until then.
        case events(Set<EventID>, Set<EventAddress>)
        /// Everything until then, at the relays that the request names.
        case everything(relays: [String])
    }

    /// How many events, addresses or relays of one request are taken.
    private static let limit = 256
    /// Stands in a request to vanish for every relay there is.
    package static let allRelays = "ALL_RELAYS"

    package let author: PublicKey
    /// In seconds since 1970.
    package let createdAt: Int64
    package let scope: Scope

    /// Nil when the event is of another kind.
    package init?(_ event: Event) {
        author = event.pubkey
        createdAt = event.createdAt
        switch event.kind {
        case .deletion:
            let author = author
            scope = .events(
                Set(event.values(of: "e").prefix(Self.limit).compactMap { EventID(hex: $0) }),
                Set(
                    event.values(of: "a").prefix(Self.limit).compactMap { EventAddress($0) }
                        .filter { $0.pubkey == author }
                )
            )
        case .requestToVanish:
            scope = .everything(relays: Array(event.values(of: "relay").prefix(Self.limit)))
        default:
            return nil
        }
    }

    /// The single events that it names.
    package var ids: Set<EventID> {
        if case .events(let ids, _) = scope { ids } else { [] }
    }
}

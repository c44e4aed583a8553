import Nostr

/// The newest event that a slot has seen, which stays after a deregistration so that no older copy revives it.
package struct SlotMark: Hashable, Sendable {
    /// In seconds since 1970.
    package var createdAt: Int64
    package var id: EventID

    package init(createdAt: Int64, id: EventID) {
        self.createdAt = createdAt
        self.id = id
    }

    package init(_ event: Event) {
        self.init(createdAt: event.createdAt, id: event.id)
    }

    /// Whether an event with this mark takes the place of one with `other` (NIP-01): the later one, and of two with the
    /// same time the one with the lower id.
    package func replaces(_ other: SlotMark) -> Bool {
        if createdAt != other.createdAt { return createdAt > other.createdAt }
        return id < other.id
    }
}

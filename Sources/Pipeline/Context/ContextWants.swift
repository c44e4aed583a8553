import Nostr

/// What a decision or its rendering lacks and a relay may have.
package struct ContextWants: Sendable, Hashable {
    /// Whose profile (kind 0).
    package var profiles: Set<PublicKey>
    package var events: Set<EventID>
    /// Whose contact list (kind 3).
    package var contactLists: Set<PublicKey>

    package init(
        profiles: Set<PublicKey> = [],
        events: Set<EventID> = [],
        contactLists: Set<PublicKey> = []
    ) {
        self.profiles = profiles
        self.events = events
        self.contactLists = contactLists
    }

    package var isEmpty: Bool { profiles.isEmpty && events.isEmpty && contactLists.isEmpty }

    package mutating func formUnion(_ other: ContextWants) {
        profiles.formUnion(other.profiles)
        events.formUnion(other.events)
        contactLists.formUnion(other.contactLists)
    }
}

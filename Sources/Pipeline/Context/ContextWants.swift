import Nostr

/// What rendering lacks and a relay may have.
package struct ContextWants: Sendable, Hashable {
    /// Whose profile (kind 0).
    package var profiles: Set<PublicKey>
    package var events: Set<EventID>

    package init(profiles: Set<PublicKey> = [], events: Set<EventID> = []) {
        self.profiles = profiles
        self.events = events
    }

    package var isEmpty: Bool { profiles.isEmpty && events.isEmpty }

    package mutating func formUnion(_ other: ContextWants) {
        profiles.formUnion(other.profiles)
        events.formUnion(other.events)
    }
}

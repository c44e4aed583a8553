import Nostr

/// What a decision or its rendering lacks and a relay may have.
package struct ContextWants: Sendable, Hashable {
    /// Whose profile (kind 0).
    package var profiles: Set<PublicKey>
    package var events: Set<EventID>
    /// The newest versions at these addresses.
    package var addresses: Set<EventAddress>
    /// Events among these whose authors' profiles are wanted, once it is known who the authors are.
    package var authorsOf: Set<EventID>
    /// Whose contact list (kind 3).
    package var contactLists: Set<PublicKey>
    /// Accounts' own lists that filters read.
    package var lists: Set<ListWant>
    /// Who may be followed by somebody whom an account follows.
    package var distances: Set<DistanceWant>
    /// The same, to be asked once the account's contact list is known.
    package var laterDistances: Set<DistanceWant>

    package init(
        profiles: Set<PublicKey> = [],
        events: Set<EventID> = [],
        addresses: Set<EventAddress> = [],
        authorsOf: Set<EventID> = [],
        contactLists: Set<PublicKey> = [],
        lists: Set<ListWant> = [],
        distances: Set<DistanceWant> = [],
        laterDistances: Set<DistanceWant> = []
    ) {
        self.profiles = profiles
        self.events = events
        self.addresses = addresses
        self.authorsOf = authorsOf
        self.contactLists = contactLists
        self.lists = lists
        self.distances = distances
        self.laterDistances = laterDistances
    }

    package var isEmpty: Bool {
        profiles.isEmpty && events.isEmpty && addresses.isEmpty && contactLists.isEmpty && lists.isEmpty
            && distances.isEmpty && laterDistances.isEmpty
    }

    package mutating func formUnion(_ other: ContextWants) {
        profiles.formUnion(other.profiles)
        events.formUnion(other.events)
        addresses.formUnion(other.addresses)
        authorsOf.formUnion(other.authorsOf)
        contactLists.formUnion(other.contactLists)
        lists.formUnion(other.lists)
        distances.formUnion(other.distances)
        laterDistances.formUnion(other.laterDistances)
    }
}

/// An account's own list, of a replaceable kind, that a filter would read.
package struct ListWant: Sendable, Hashable {
    package var account: PublicKey
    package var kind: Kind

    package init(account: PublicKey, kind: Kind) {
        self.account = account
        self.kind = kind
    }
}

/// Whether somebody whom an account follows follows an author.
package struct DistanceWant: Sendable, Hashable {
    package var account: PublicKey
    package var author: PublicKey

    package init(account: PublicKey, author: PublicKey) {
        self.account = account
        self.author = author
    }
}

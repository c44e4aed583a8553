import Nostr

/// An account's own list, of a replaceable kind, that a filter would read.
package struct ListWant: Sendable, Hashable {
    package var account: PublicKey
    package var kind: Kind

    package init(account: PublicKey, kind: Kind) {
        self.account = account
        self.kind = kind
    }
}

/// Whether an account that `account` follows, follows `author`.
package struct DistanceWant: Sendable, Hashable {
    package var account: PublicKey
    package var author: PublicKey
}

/// One thing that a decision or its rendering lacks and a relay may have.
enum ContextWant: Hashable {
    /// Of kind 0.
    case profile(PublicKey)
    case event(EventID)
    /// The newest version at that address.
    case address(EventAddress)
    /// Of kind 3.
    case contactList(PublicKey)
    case list(ListWant)
    case distance(DistanceWant)
}

/// Everything that a decision or its rendering lacks and a relay may have.
package struct ContextWants: Sendable, Hashable {
    package var profiles: Set<PublicKey> = []
    package var events: Set<EventID> = []
    package var addresses: Set<EventAddress> = []
    /// Events among these whose authors' profiles are wanted, once it is known who the authors are.
    package var authorsOf: Set<EventID> = []
    package var contactLists: Set<PublicKey> = []
    package var lists: Set<ListWant> = []
    package var distances: Set<DistanceWant> = []
    /// The same, to be asked once the account's contact list is known.
    package var laterDistances: Set<DistanceWant> = []

    package var isEmpty: Bool {
        profiles.isEmpty && events.isEmpty && addresses.isEmpty && contactLists.isEmpty && lists.isEmpty
            && distances.isEmpty && laterDistances.isEmpty
    }

    /// All that relays can be asked for now.
    var all: [ContextWant] {
        profiles.map(ContextWant.profile) + events.map(ContextWant.event) + addresses.map(ContextWant.address)
            + contactLists.map(ContextWant.contactList) + lists.map(ContextWant.list)
            + distances.map(ContextWant.distance)
    }

    mutating func insert(_ want: ContextWant) {
        switch want {
        case .profile(let key): profiles.insert(key)
        case .event(let id): events.insert(id)
        case .address(let address): addresses.insert(address)
        case .contactList(let account): contactLists.insert(account)
        case .list(let list): lists.insert(list)
        case .distance(let distance): distances.insert(distance)
        }
    }

    mutating func remove(_ want: ContextWant) {
        switch want {
        case .profile(let key): profiles.remove(key)
        case .event(let id): events.remove(id)
        case .address(let address): addresses.remove(address)
        case .contactList(let account): contactLists.remove(account)
        case .list(let list): lists.remove(list)
        case .distance(let distance):
            distances.remove(distance)
            laterDistances.remove(distance)
        }
    }

    mutating func formUnion(_ other: ContextWants) {
        // Most events lack nothing.
        guard !other.isEmpty else { return }
        for want in other.all { insert(want) }
        authorsOf.formUnion(other.authorsOf)
        laterDistances.formUnion(other.laterDistances)
    }
}

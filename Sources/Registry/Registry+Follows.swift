import Nostr

extension Registry {
    /// Whom `list` names anew: naming everybody again is no follow, and naming somebody again after leaving him out is one.
    /// Nobody, when a newer list of that author is remembered.
    ///
    /// Of an author without a remembered list, or with one from before an account came to be, nothing is known: then it is a
    /// follow only if the list was made after that account registered, and either its author published it here or all lists
    /// that name the account had been read (``markFollowsRead(_:)``).
    package func newFollows(_ list: ContactList, seen: ContactListSighting = .direct) throws -> [PublicKey] {
        guard seen != .baseline, !list.named.isEmpty else { return [] }
        return try store.read { rows in try rows.newFollows(list, seen: seen) }
    }

    /// Remembers whom contact lists name, in one transaction. To be called when what they wake is kept, so that a follow is
    /// not lost between the two.
    package func remember(_ lists: [ContactList]) throws {
        let now = now()
        try store.write { rows in for list in lists { try rows.remember(list, now: now) } }
    }

    /// Remembers that all contact lists which named these accounts at their relays were read, so that an unknown author's list
    /// that names one from now on is a follow. Keys without a device are left out.
    package func markFollowsRead(_ accounts: Set<PublicKey>) throws {
        guard !accounts.isEmpty else { return }
        try store.write { rows in for account in accounts { try rows.markFollowsRead(account) } }
    }
}

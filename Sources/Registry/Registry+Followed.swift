import Nostr
import Synchronization

/// Whom accounts follow, by their own contact lists. Only where rules ask for that.
extension Registry {
    /// Whether the newest contact list known of `account` names `author`; nil when none is known. Asks the disk at most once, and
    /// not for accounts that it was asked about lately.
    package func isFollowed(_ author: PublicKey, by account: PublicKey) throws -> Bool? {
        try followed(by: account)?.contains(vault.followedHash(author.bytes))
    }

    /// Whether a contact list with that mark would be the newest known of `account`, and is not dated too far ahead: such a one would
    /// stand against every later one until then.
    package func wantsContactList(of account: PublicKey, _ mark: SlotMark) throws -> Bool {
        guard mark.createdAt >= 0, mark.createdAt <= now() / 1000 + desk.limits.secondsAhead else { return false }
        guard let known = try followed(by: account) else { return true }
        return mark.replaces(known.mark)
    }

    /// Takes contact lists (kind 3) of accounts, in one transaction; of each account the newest stays. Their signatures must have been
    /// verified. Those of others are left out, and so are those that ``wantsContactList(of:_:)`` would not have.
    package func learnFollowed(from lists: [Event]) throws {
        let wanted = try lists.filter { list in
            try list.kind == .contactList && wantsContactList(of: list.pubkey, SlotMark(list))
        }
        guard !wanted.isEmpty else { return }
        try store.write { rows in
            for list in wanted { try rows.putFollowed(FollowedKeys(list, hash: vault.followedHash), by: list.pubkey) }
        } afterwards: {
            followedCache.withLock { $0.forget(wanted.map(\.pubkey)) }
        }
    }

    /// Forgets whom accounts follow: lists that nobody keeps up to date say what was once.
    package func forgetFollowed() throws {
        try store.write { rows in
            try rows.removeAllFollowed()
        } afterwards: {
            followedCache.withLock { $0.forgetAll() }
        }
    }

    private func followed(by account: PublicKey) throws -> FollowedKeys? {
        let (known, generation) = followedCache.withLock { ($0.followed(by: account), $0.generation) }
        if let known { return known }
        let followed = try store.readOnce { try $0.followed(by: account) }
        followedCache.withLock { $0.remember(followed, of: account, readIn: generation) }
        return followed
    }
}

import Nostr
import Synchronization

/// Accounts' own lists that filters want to read, such as whom they mute (NIP-51). Only of kinds that some filter wants.
extension Registry {
    /// The newest list of that kind known of `account`; nil when none is. Asks the disk at most once, and not for accounts that
    /// it was asked about lately.
    package func recipientList(_ kind: Kind, of account: PublicKey) throws -> RecipientList? {
        let key = RecipientListCache.Key(account: account, kind: kind)
        let (known, generation) = recipientLists.withLock { ($0.list(key), $0.generation) }
        if let known { return known }
        let list = try store.readOnce { try $0.recipientList(kind, of: account) }
        recipientLists.withLock { $0.remember(list, key, readIn: generation) }
        return list
    }

    /// Whether a list with that mark would be the newest known of its kind and `account`, and is not dated too far ahead: such a
    /// one would stand against every later one until then.
    package func wantsRecipientList(_ kind: Kind, of account: PublicKey, _ mark: SlotMark) throws -> Bool {
        guard mark.createdAt >= 0, mark.createdAt <= now() / 1000 + desk.limits.secondsAhead else { return false }
        guard let known = try recipientList(kind, of: account) else { return true }
        return mark.replaces(known.mark)
    }

    /// Takes lists of accounts, in one transaction; of each kind and account the newest stays. Their signatures must have been
    /// verified. Those of others are left out, and so are those that ``wantsRecipientList(_:of:_:)`` would not have.
    package func learnRecipientLists(from events: [Event]) throws {
        let wanted = try events.filter { try wantsRecipientList($0.kind, of: $0.pubkey, SlotMark($0)) }
            .map { (event: $0, list: RecipientList(mark: SlotMark($0), json: $0.json)) }
            .filter { $0.list.json.count <= RecipientList.byteLimit }
        guard !wanted.isEmpty else { return }
        try store.write { rows in
            for (event, list) in wanted { try rows.putRecipientList(list, event.kind, of: event.pubkey) }
        } afterwards: {
            recipientLists.withLock { cache in
                cache.forget(wanted.map { RecipientListCache.Key(account: $0.event.pubkey, kind: $0.event.kind) })
            }
        }
    }

    /// Forgets lists of other kinds: those that nobody keeps up to date say what was once.
    package func forgetRecipientLists(but kinds: Set<Kind>) throws {
        try store.write { rows in
            try rows.removeRecipientLists(but: kinds)
        } afterwards: {
            recipientLists.withLock { $0.forgetAll() }
        }
    }
}

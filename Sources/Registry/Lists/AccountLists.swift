import Foundation
import GRDB
import Nostr
import Synchronization

/// Accounts' own lists: contact lists, and other lists that filters read, such as mute lists (NIP-51). Only of kinds
/// that rules or filters ask for.
final class AccountLists: Sendable {
    private let store: RegistryStore
    /// Hashes a followed key.
    private let hash: KeyHash
    /// Whether a `created_at` is not too far in the future: such a list would win against every later one until then.
    private let isPlausible: @Sendable (Int64) -> Bool
    // About 32 MB. The overhead of an entry equals about sixteen hashes.
    private let followed = Mutex(
        ReadCache<PublicKey, FollowedKeys?>(capacity: 4_000_000) { 16 + ($0?.count ?? 0) }
    )
    // Some 64 MB. Nil in the inner dictionary: the account has no such list.
    private let lists = Mutex(
        ReadCache<PublicKey, [Kind: RecipientList?]>(capacity: 64 << 20) { known in
            known.values.reduce(128) { $0 + 64 + ($1?.json.count ?? 0) }
        }
    )

    init(store: RegistryStore, hash: KeyHash, isPlausible: @escaping @Sendable (Int64) -> Bool) {
        self.store = store
        self.hash = hash
        self.isPlausible = isPlausible
    }

    func isFollowed(_ author: PublicKey, by account: PublicKey) throws -> Bool? {
        try followedKeys(of: account)?.contains(hash(author.bytes))
    }

    func wantsContactList(of account: PublicKey, _ mark: SlotMark) throws -> Bool {
        guard isPlausible(mark.createdAt) else { return false }
        guard let known = try followedKeys(of: account) else { return true }
        return mark.replaces(known.mark)
    }

    func learnFollowed(from events: [Event]) throws {
        let wanted = try events.filter { event in
            try event.kind == .contactList && wantsContactList(of: event.pubkey, SlotMark(event))
        }
        guard !wanted.isEmpty else { return }
        try store.write { rows in
            for event in wanted { try rows.putFollowed(FollowedKeys(event, hash: hash), by: event.pubkey) }
        } afterwards: {
            followed.withLock { $0.forget(wanted.map(\.pubkey)) }
        }
    }

    func forgetFollowed() throws {
        try store.write { rows in
            try rows.removeAllFollowed()
        } afterwards: {
            followed.withLock { $0.forgetAll() }
        }
    }

    private func followedKeys(of account: PublicKey) throws -> FollowedKeys? {
        let (known, generation) = followed.withLock { ($0.value(of: account), $0.generation) }
        if let known { return known }
        let keys = try store.readOnce { try $0.followed(by: account) }
        followed.withLock { $0.remember(keys, of: account, readIn: generation) }
        return keys
    }

    func list(_ kind: Kind, of account: PublicKey) throws -> RecipientList? {
        let (known, generation) = lists.withLock { ($0.value(of: account)?[kind], $0.generation) }
        if let known { return known }
        let list = try store.readOnce { try $0.recipientList(kind, of: account) }
        lists.withLock { cache in
            var all = cache.value(of: account) ?? [:]
            all[kind] = .some(list)
            cache.remember(all, of: account, readIn: generation)
        }
        return list
    }

    func wants(_ kind: Kind, of account: PublicKey, _ mark: SlotMark) throws -> Bool {
        guard isPlausible(mark.createdAt) else { return false }
        guard let known = try list(kind, of: account) else { return true }
        return mark.replaces(known.mark)
    }

    func learn(from events: [Event]) throws {
        let wanted = try events.filter { try wants($0.kind, of: $0.pubkey, SlotMark($0)) }
            .map { (event: $0, list: RecipientList(mark: SlotMark($0), json: $0.json)) }
            .filter { $0.list.json.count <= RecipientList.byteLimit }
        guard !wanted.isEmpty else { return }
        try store.write { rows in
            for (event, list) in wanted { try rows.putRecipientList(list, event.kind, of: event.pubkey) }
        } afterwards: {
            lists.withLock { $0.forget(wanted.map(\.event.pubkey)) }
        }
    }

    func forget(exceptKinds kinds: Set<Kind>) throws {
        try store.write { rows in
            try rows.removeRecipientLists(but: kinds)
        } afterwards: {
            lists.withLock { $0.forgetAll() }
        }
    }

    /// Drops the cached lists of accounts that lost a device, perhaps their last one. Call it after the write to disk.
    func forget(_ accounts: [PublicKey]) {
        followed.withLock { $0.forget(accounts) }
        lists.withLock { $0.forget(accounts) }
    }

    func forgetAll() {
        followed.withLock { $0.forgetAll() }
        lists.withLock { $0.forgetAll() }
    }
}

extension RegistryRows {
    func followed(by account: PublicKey) throws -> FollowedKeys? {
        let row = try one(
            "SELECT created_at, event_id, hashes FROM followed WHERE account = ?",
            [account.bytes.data]
        )
        guard let row else { return nil }
        guard let followed = FollowedKeys(mark: try mark(row), data: row["hashes"]) else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT)
        }
        return followed
    }

    /// Stores the keys that an account follows, unless a newer list is stored or the account has no device.
    func putFollowed(_ followed: FollowedKeys, by account: PublicKey) throws {
        try execute(
            """
            INSERT INTO followed (account, created_at, event_id, hashes)
            SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM devices WHERE account = ?1)
            ON CONFLICT (account) DO UPDATE SET
                created_at = excluded.created_at, event_id = excluded.event_id, hashes = excluded.hashes
            WHERE excluded.created_at > created_at OR excluded.created_at = created_at AND excluded.event_id < event_id
            """,
            [account.bytes.data, followed.mark.createdAt, followed.mark.id.bytes.data, followed.data]
        )
    }

    func removeAllFollowed() throws {
        try execute("DELETE FROM followed")
    }
    func recipientList(_ kind: Kind, of account: PublicKey) throws -> RecipientList? {
        try one(
            "SELECT created_at, event_id, event FROM recipient_lists WHERE account = ? AND kind = ?",
            [account.bytes.data, Int64(kind.rawValue)]
        ).map { RecipientList(mark: try mark($0), json: Array($0["event"] as Data)) }
    }

    /// Stores a list of an account, unless a newer one is stored or the account has no device.
    func putRecipientList(_ list: RecipientList, _ kind: Kind, of account: PublicKey) throws {
        try execute(
            """
            INSERT INTO recipient_lists (account, kind, created_at, event_id, event)
            SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM devices WHERE account = ?1)
            ON CONFLICT (account, kind) DO UPDATE SET
                created_at = excluded.created_at, event_id = excluded.event_id, event = excluded.event
            WHERE excluded.created_at > created_at OR excluded.created_at = created_at AND excluded.event_id < event_id
            """,
            [
                account.bytes.data, Int64(kind.rawValue), list.mark.createdAt, list.mark.id.bytes.data,
                Data(list.json),
            ]
        )
    }

    func removeRecipientLists(but kinds: Set<Kind>) throws {
        for row in try all("SELECT DISTINCT kind FROM recipient_lists") {
            let kind: Int64 = row["kind"]
            guard !kinds.contains(where: { Int64($0.rawValue) == kind }) else { continue }
            try execute("DELETE FROM recipient_lists WHERE kind = ?", [kind])
        }
    }
}

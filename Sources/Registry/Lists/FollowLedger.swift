import Core
import Foundation
import GRDB
import Nostr

/// A kind 3 event (NIP-02), reduced to the local accounts that it names.
package struct ContactList: Hashable, Sendable {
    package var author: PublicKey
    /// May name an account twice.
    package var named: [PublicKey]
    /// In seconds since 1970.
    package var createdAt: Int64

    package init(author: PublicKey, named: [PublicKey], createdAt: Int64) {
        self.author = author
        self.named = named
        self.createdAt = createdAt
    }
}

/// The source of a contact list, which determines whether the first list of an author counts as new.
package enum ContactListSource: Hashable, Sendable {
    /// Read to establish a baseline. It never counts as new.
    case baseline
    /// From a relay or a feed, which also pass on old events.
    case relay
    /// Published at the router's own socket.
    case direct
}

extension Registry {
    /// Returns the accounts that `list` newly names. Naming an account again counts as a follow only if a list in
    /// between omitted it. Empty if a newer list of that author is known.
    ///
    /// If no list of the author is known, or only one from before an account registered, the list is a follow only if
    /// it was made after the account registered. In addition, its author published it here, or all lists that name the
    /// account had been read (``markFollowsRead(_:)``).
    ///
    /// `feed`: the partition of these accounts. Each partition stores lists separately.
    package func newFollows(
        _ list: ContactList,
        seen: ContactListSource = .direct,
        of feed: IndexFeed? = nil
    ) throws -> [PublicKey] {
        guard seen != .baseline, !list.named.isEmpty else { return [] }
        let author = Self.followsKey(list.author, feed)
        return try store.read { rows in try rows.newFollows(list, seen: seen, by: author) }
    }

    /// Remembers the accounts that contact lists name, in one transaction. Call it once the notifications that they
    /// cause are stored, so that no follow is lost in between.
    package func remember(_ lists: [ContactList], of feed: IndexFeed? = nil) throws {
        let now = now()
        try store.write { rows in
            for list in lists { try rows.remember(list, by: Self.followsKey(list.author, feed), now: now) }
        }
    }

    /// The key of an author in the rows about follows: the public key, followed by the partition if there are
    /// partitions.
    private static func followsKey(_ author: PublicKey, _ feed: IndexFeed?) -> Data {
        author.bytes.data + (feed?.partition.map { Data([$0]) } ?? Data())
    }

    /// Records that all contact lists naming these accounts were read at their relays, so the list of an unknown author
    /// that names one later is a follow. Ignores keys without a device.
    package func markFollowsRead(_ accounts: Set<PublicKey>) throws {
        guard !accounts.isEmpty else { return }
        try store.write { rows in for account in accounts { try rows.markFollowsRead(account) } }
    }
}

extension RegistryRows {
    func newFollows(_ list: ContactList, seen: ContactListSource, by author: Data) throws -> [PublicKey] {
        let last = try one("SELECT created_at, seen_at FROM contact_lists WHERE author = ?", [author])
        if let last, last["created_at"] as Int64 > list.createdAt { return [] }
        let lastSeenAt: Timestamp? = last?["seen_at"]
        var named: Set<PublicKey> = []
        return try list.named.filter { account in
            guard named.insert(account).inserted, try !follows(author, account) else { return false }
            guard let (registeredAt, isRead) = try familiarity(of: account) else { return false }
            // The last list would have been remembered for the account, but did not name it.
            if let lastSeenAt, lastSeenAt >= registeredAt { return true }
            return list.createdAt >= registeredAt.seconds && (seen == .direct || isRead)
        }
    }

    private func follows(_ author: Data, _ account: PublicKey) throws -> Bool {
        try one("SELECT 1 FROM follows WHERE author = ? AND account = ?", [author, account.bytes.data]) != nil
    }

    /// Returns since when an account's followers are recorded, and whether all earlier contact lists were read.
    private func familiarity(of account: PublicKey) throws -> (registeredAt: Timestamp, isRead: Bool)? {
        let row = try one(
            """
            SELECT min(first_registered_at), EXISTS (SELECT 1 FROM follows_read WHERE account = ?1)
            FROM devices WHERE account = ?1
            """,
            [account.bytes.data]
        )
        guard let row, let registeredAt: Timestamp = row[0] else { return nil }
        return (registeredAt, row[1])
    }

    /// Replaces the accounts remembered for a contact list's author, unless a newer list is remembered.
    func remember(_ list: ContactList, by author: Data, now: Timestamp) throws {
        let last = try one("SELECT created_at FROM contact_lists WHERE author = ?", [author])
        if let last, last["created_at"] as Int64 > list.createdAt { return }
        try execute(
            "INSERT OR REPLACE INTO contact_lists (author, created_at, seen_at) VALUES (?, ?, ?)",
            [author, list.createdAt, now]
        )
        let known = Set(
            try all("SELECT account FROM follows WHERE author = ?", [author]).map { try key($0, "account") }
        )
        let named = Set(list.named)
        for account in known.subtracting(named) {
            try execute("DELETE FROM follows WHERE author = ? AND account = ?", [author, account.bytes.data])
        }
        for account in named.subtracting(known) {
            try execute("INSERT INTO follows (author, account) VALUES (?, ?)", [author, account.bytes.data])
        }
    }

    func markFollowsRead(_ account: PublicKey) throws {
        try execute(
            "INSERT OR IGNORE INTO follows_read (account) SELECT ?1 WHERE EXISTS (SELECT 1 FROM devices WHERE account = ?1)",
            [account.bytes.data]
        )
    }
}

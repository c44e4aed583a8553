import Foundation
import GRDB
import Nostr

extension RegistryRows {
    func newFollows(_ list: ContactList, seen: ContactListSighting) throws -> [PublicKey] {
        let last = try one(
            "SELECT created_at, seen_at FROM contact_lists WHERE author = ?",
            [list.author.bytes.data]
        )
        if let last, last["created_at"] as Int64 > list.createdAt { return [] }
        let lastSeenAt: Int64? = last?["seen_at"]
        var named: Set<PublicKey> = []
        return try list.named.filter { account in
            guard named.insert(account).inserted, try !follows(list.author, account) else { return false }
            guard let (registeredAt, isRead) = try familiarity(of: account) else { return false }
            // The last list did not name an account that it would have been remembered for.
            if let lastSeenAt, lastSeenAt >= registeredAt { return true }
            return list.createdAt >= registeredAt / 1000 && (seen == .direct || isRead)
        }
    }

    private func follows(_ author: PublicKey, _ account: PublicKey) throws -> Bool {
        try one(
            "SELECT 1 FROM follows WHERE author = ? AND account = ?",
            [author.bytes.data, account.bytes.data]
        ) != nil
    }

    /// Since when an account's followers are noted, in milliseconds since 1970, and whether those before were read.
    private func familiarity(of account: PublicKey) throws -> (registeredAt: Int64, isRead: Bool)? {
        let row = try one(
            """
            SELECT min(first_registered_at), EXISTS (SELECT 1 FROM follows_read WHERE account = ?1)
            FROM devices WHERE account = ?1
            """,
            [account.bytes.data]
        )
        guard let row, let registeredAt: Int64 = row[0] else { return nil }
        return (registeredAt, row[1])
    }

    /// Remembers whom a contact list names, and nobody else, unless a newer one of its author is remembered. `now` is in
    /// milliseconds since 1970.
    func remember(_ list: ContactList, now: Int64) throws {
        let author = list.author.bytes.data
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

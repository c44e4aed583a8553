import Foundation
import GRDB
import Nostr

extension RegistryRows {
    /// Whom a contact list names that no remembered list of that author names.
    func newFollows(_ list: ContactList) throws -> [PublicKey] {
        guard try !isOutdated(list) else { return [] }
        var seen: Set<PublicKey> = []
        return try list.named.filter { account in
            let known = try one(
                "SELECT 1 FROM follows WHERE author = ? AND account = ?",
                [list.author.bytes.data, account.bytes.data]
            )
            return known == nil && seen.insert(account).inserted
        }
    }

    /// Remembers whom a contact list names, unless a newer one of its author is remembered.
    func remember(_ list: ContactList) throws {
        guard try !isOutdated(list) else { return }
        let author = list.author.bytes.data
        try execute(
            "INSERT OR REPLACE INTO contact_lists (author, created_at) VALUES (?, ?)",
            [author, list.createdAt]
        )
        for account in list.named {
            try execute("INSERT OR IGNORE INTO follows (author, account) VALUES (?, ?)", [author, account.bytes.data])
        }
    }

    private func isOutdated(_ list: ContactList) throws -> Bool {
        guard
            let newest: Int64 = try one(
                "SELECT created_at FROM contact_lists WHERE author = ?",
                [list.author.bytes.data]
            )?[0]
        else { return false }
        return newest > list.createdAt
    }
}

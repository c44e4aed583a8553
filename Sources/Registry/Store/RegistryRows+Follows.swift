import Foundation
import GRDB
import Nostr

extension RegistryRows {
    /// Remembers whom a contact list names, and returns those whom no list of that author named before.
    func newFollows(_ list: ContactList) throws -> [PublicKey] {
        let author = list.author.bytes.data
        if let newest: Int64 = try one("SELECT created_at FROM contact_lists WHERE author = ?", [author])?[0],
            newest > list.createdAt
        {
            return []
        }
        try execute(
            "INSERT OR REPLACE INTO contact_lists (author, created_at) VALUES (?, ?)",
            [author, list.createdAt]
        )
        var new: [PublicKey] = []
        for account in list.named {
            try execute("INSERT OR IGNORE INTO follows (author, account) VALUES (?, ?)", [author, account.bytes.data])
            if db.changesCount > 0 { new.append(account) }
        }
        return new
    }
}

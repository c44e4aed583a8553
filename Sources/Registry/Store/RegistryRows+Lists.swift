import Core
import Foundation
import GRDB
import Nostr
import Push

extension RegistryRows {
    /// The mark of an author's newest list of that kind.
    func mark(of kind: Kind, by author: PublicKey) throws -> SlotMark? {
        try one(
            "SELECT created_at, event_id FROM lists WHERE author = ? AND kind = ?",
            [author.bytes.data, Int64(kind.rawValue)]
        ).map(mark)
    }

    func putList(_ kind: Kind, by author: PublicKey, _ mark: SlotMark, relays: [String], now: Timestamp) throws {
        try execute(
            """
            INSERT OR REPLACE INTO lists (author, kind, created_at, event_id, learned_at, relays)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                author.bytes.data, Int64(kind.rawValue), mark.createdAt, mark.id.bytes.data, now,
                relays.joined(separator: "\n"),
            ]
        )
    }

    /// Whether the root's newest list with devices names this one, unless lists without devices have been newer for too
    /// long at `now`.
    func lists(_ device: PublicKey, for root: PublicKey, now: Timestamp) throws -> Bool {
        try one(
            "SELECT 1 FROM listed_devices WHERE root = ? AND device = ? AND (until IS NULL OR until > ?)",
            [root.bytes.data, device.bytes.data, now]
        ) != nil
    }

    func putListedDevices(_ devices: Set<PublicKey>, of root: PublicKey) throws {
        let root = root.bytes.data
        try execute("DELETE FROM listed_devices WHERE root = ?", [root])
        for device in devices {
            try execute("INSERT INTO listed_devices (root, device) VALUES (?, ?)", [root, device.bytes.data])
        }
    }

    func messageKeys(of account: PublicKey) throws -> [MessageKey] {
        try all("SELECT key, until FROM message_keys WHERE account = ?", [account.bytes.data])
            .map { MessageKey(key: try key($0, "key"), until: $0["until"]) }
    }

    /// The number of other accounts that receive messages under that key at `now`.
    func ownerCount(ofMessageKey key: PublicKey, besides account: PublicKey, now: Timestamp) throws -> Int {
        let sql = "SELECT count(*) FROM message_keys WHERE key = ? AND account <> ? AND (until IS NULL OR until > ?)"
        return try one(sql, [key.bytes.data, account.bytes.data, now])?[0] ?? 0
    }

    func putMessageKeys(_ keys: [MessageKey], of account: PublicKey) throws {
        let account = account.bytes.data
        try execute("DELETE FROM message_keys WHERE account = ?", [account])
        for key in keys {
            try execute(
                "INSERT INTO message_keys (account, key, until) VALUES (?, ?, ?)",
                [account, key.key.bytes.data, key.until]
            )
        }
    }

    /// The keys of every account, without those that expired by `now`.
    func allMessageKeys(now: Timestamp) throws -> [PublicKey: [MessageKey]] {
        try all("SELECT account, key, until FROM message_keys WHERE until IS NULL OR until > ?", [now])
            .reduce(into: [:]) { keys, row in
                let messageKey = MessageKey(key: try key(row, "key"), until: row["until"])
                keys[try key(row, "account"), default: []].append(messageKey)
            }
    }

    /// Deletes lists learned before `time` whose authors are no longer related to any account.
    func forgetLists(unneededSince time: Timestamp) throws {
        let authors = """
            SELECT author FROM lists AS list WHERE learned_at < ?
                AND NOT EXISTS (SELECT 1 FROM devices WHERE account = list.author)
                AND NOT EXISTS (SELECT 1 FROM partners WHERE partner = list.author)
                AND NOT EXISTS (SELECT 1 FROM waiting WHERE root = list.author)
            """
        for row in try all(authors, [time]) {
            let author = try key(row, "author").bytes.data
            try execute("DELETE FROM lists WHERE author = ?", [author])
            try execute("DELETE FROM listed_devices WHERE root = ?", [author])
            try execute("DELETE FROM message_keys WHERE account = ?", [author])
        }
    }

    /// Ends the devices of a root at `moment`, because its newest list does not mention devices. An earlier end stays.
    func expire(devicesOf root: PublicKey, at moment: Timestamp) throws {
        try execute("UPDATE listed_devices SET until = ? WHERE root = ? AND until IS NULL", [moment, root.bytes.data])
    }

    /// When the next listed device expires; the distant future if none does.
    func nextEndOfGrace() throws -> Timestamp {
        try one("SELECT min(until) AS until FROM listed_devices WHERE until IS NOT NULL")?["until"] ?? .distantFuture
    }

    /// Removes the devices that ended by `now`, and returns their roots and keys.
    func takeLapsedDevices(at now: Timestamp) throws -> [(root: PublicKey, device: PublicKey)] {
        try all("DELETE FROM listed_devices WHERE until <= ? RETURNING root, device", [now])
            .map { (try key($0, "root"), try key($0, "device")) }
    }
}

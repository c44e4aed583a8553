import Foundation
import GRDB
import Nostr

extension RegistryRows {
    func remoteSessions() throws -> [RemoteSession] {
        try all("SELECT client, opened_at, used_at FROM remote_sessions").map { row in
            guard let client = PublicKey(bytes: row[0] as Data) else {
                throw DatabaseError(resultCode: .SQLITE_CORRUPT)
            }
            return RemoteSession(client: client, openedAt: row[1], usedAt: row[2])
        }
    }

    func put(_ session: RemoteSession) throws {
        try execute(
            "INSERT OR REPLACE INTO remote_sessions (client, opened_at, used_at) VALUES (?, ?, ?)",
            [session.client.bytes.data, session.openedAt, session.usedAt]
        )
    }

    func use(_ session: RemoteSession) throws {
        try execute(
            "UPDATE remote_sessions SET used_at = ? WHERE client = ?",
            [session.usedAt, session.client.bytes.data]
        )
    }

    func dropRemoteSession(of client: PublicKey) throws {
        try execute("DELETE FROM remote_sessions WHERE client = ?", [client.bytes.data])
    }

    func dropRemoteSessions(unusedSince limit: Int64) throws {
        try execute("DELETE FROM remote_sessions WHERE used_at < ?", [limit])
    }

    /// Whose secret this is: `client`'s if it was nobody's.
    func bind(_ secret: [UInt8], to client: PublicKey, at time: Int64) throws -> PublicKey? {
        try execute(
            "INSERT OR IGNORE INTO used_secrets (digest, client, used_at) VALUES (?, ?, ?)",
            [Data(secret), client.bytes.data, time]
        )
        let row = try one("SELECT client FROM used_secrets WHERE digest = ?", [Data(secret)])
        return row.flatMap { PublicKey(bytes: $0[0] as Data) }
    }
}

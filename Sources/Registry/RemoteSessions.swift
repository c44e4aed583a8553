import Core
import Foundation
import GRDB
import Nostr

/// A NIP-46 session that a client opened with this router.
package struct RemoteSession: Hashable, Sendable {
    /// The key the client signs its requests with.
    package var client: PublicKey
    /// When the client opened the session by its own clock, in seconds since 1970.
    package var openedAt: Int64
    /// When it was last used, to the precision of the stored time.
    package var usedAt: Timestamp

    package init(client: PublicKey, openedAt: Int64, usedAt: Timestamp) {
        self.client = client
        self.openedAt = openedAt
        self.usedAt = usedAt
    }
}

extension Registry {
    /// All NIP-46 sessions. Deletes those unused since `limit`.
    package func remoteSessions(usedSince limit: Timestamp) throws -> [RemoteSession] {
        try store.write { rows in
            try rows.dropRemoteSessions(unusedSince: limit)
            return try rows.remoteSessions()
        }
    }

    /// The NIP-46 session of a client; nil: it has none.
    package func remoteSession(of client: PublicKey) throws -> RemoteSession? {
        try store.readOnce { try $0.remoteSessions(of: client).first }
    }

    /// Opens or reopens a session and drops `others`. With a `secret`, which is a digest, the session opens only if no
    /// other client has used it. Returns whether it opened.
    package func open(_ session: RemoteSession, secret: [UInt8]?, dropping others: [PublicKey] = []) throws -> Bool {
        try store.write { rows in
            if let secret, try rows.bind(secret, to: session.client, at: session.usedAt) != session.client {
                return false
            }
            for other in others { try rows.dropRemoteSession(of: other) }
            try rows.put(session)
            return true
        }
    }

    /// Notes when a session was used, if it still exists.
    package func use(_ session: RemoteSession) throws {
        try store.write { try $0.use(session) }
    }

    /// Ends the session of `client`, if there is one.
    package func closeRemoteSession(of client: PublicKey) throws {
        try store.write { try $0.dropRemoteSession(of: client) }
    }
}

extension RegistryRows {
    /// The sessions of one client, or of all.
    func remoteSessions(of client: PublicKey? = nil) throws -> [RemoteSession] {
        try all(
            "SELECT client, opened_at, used_at FROM remote_sessions WHERE client = ?1 OR ?1 IS NULL",
            [client?.bytes.data]
        ).map { row in
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

    func dropRemoteSessions(unusedSince limit: Timestamp) throws {
        try execute("DELETE FROM remote_sessions WHERE used_at < ?", [limit])
    }

    /// Returns the client that used this secret first, which is `client` if there was none.
    func bind(_ secret: [UInt8], to client: PublicKey, at time: Timestamp) throws -> PublicKey? {
        try execute(
            "INSERT OR IGNORE INTO used_secrets (digest, client, used_at) VALUES (?, ?, ?)",
            [Data(secret), client.bytes.data, time]
        )
        let row = try one("SELECT client FROM used_secrets WHERE digest = ?", [Data(secret)])
        return row.flatMap { PublicKey(bytes: $0[0] as Data) }
    }
}

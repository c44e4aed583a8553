import Nostr

extension Registry {
    /// All NIP-46 sessions, those unused since `limit` (milliseconds since 1970) dropped for good.
    package func remoteSessions(usedSince limit: Int64) throws -> [RemoteSession] {
        try store.write { rows in
            try rows.dropRemoteSessions(unusedSince: limit)
            return try rows.remoteSessions()
        }
    }

    /// Opens a session, or notes that it was opened anew, and drops `others`. With a `secret`, which is a digest of one, the
    /// session is opened only if nobody but this client ever opened one with it; returns whether it was.
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

    /// Writes down when a session was used; nothing, if there is none any more.
    package func use(_ session: RemoteSession) throws {
        try store.write { try $0.use(session) }
    }

    /// Ends the session of `client`, if there is one.
    package func closeRemoteSession(of client: PublicKey) throws {
        try store.write { try $0.dropRemoteSession(of: client) }
    }
}

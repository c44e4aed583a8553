import Nostr

/// A NIP-46 session that a client opened with this router.
package struct RemoteSession: Hashable, Sendable {
    /// The key the client signs its requests with.
    package var client: PublicKey
    /// When the client says it opened the session, in seconds since 1970.
    package var openedAt: Int64
    /// When it was last made use of, in milliseconds since 1970 by our clock, as far as that was written down.
    package var usedAt: Int64

    package init(client: PublicKey, openedAt: Int64, usedAt: Int64) {
        self.client = client
        self.openedAt = openedAt
        self.usedAt = usedAt
    }
}

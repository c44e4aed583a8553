import Nostr

/// That a key is watched at a relay on somebody's behalf.
package struct WatchRow: Hashable, Sendable {
    /// Whose registration or list has the key watched: often the key's own.
    package var owner: PublicKey
    package var key: PublicKey
    package var relay: RelayNumber
    /// What of the key is watched: bits that the registry gives no meaning to.
    package var interest: UInt8
    /// Nothing older concerns the key at this relay, in seconds since 1970.
    package var since: Int64
    /// Whether what the relay had stored for the key was read.
    package var isEstablished: Bool

    package init(
        owner: PublicKey,
        key: PublicKey,
        relay: RelayNumber,
        interest: UInt8,
        since: Int64,
        isEstablished: Bool
    ) {
        self.owner = owner
        self.key = key
        self.relay = relay
        self.interest = interest
        self.since = since
        self.isEstablished = isEstablished
    }
}

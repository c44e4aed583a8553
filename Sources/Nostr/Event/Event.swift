/// A Nostr event (NIP-01). Having one says nothing about its id and signature: ``verify()`` does.
package struct Event: Sendable, Hashable {
    package var id: EventID
    package var pubkey: PublicKey
    /// Seconds since 1970, as the author claims.
    package var createdAt: Int64
    package var kind: Kind
    package var tags: [[String]]
    package var content: String
    package var signature: Signature

    package init(
        id: EventID,
        pubkey: PublicKey,
        createdAt: Int64,
        kind: Kind,
        tags: [[String]],
        content: String,
        signature: Signature
    ) {
        self.id = id
        self.pubkey = pubkey
        self.createdAt = createdAt
        self.kind = kind
        self.tags = tags
        self.content = content
        self.signature = signature
    }
}

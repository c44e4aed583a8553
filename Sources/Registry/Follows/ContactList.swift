import Nostr

/// A kind 3 event (NIP-02), reduced to the accounts of ours that it names.
package struct ContactList: Hashable, Sendable {
    package var author: PublicKey
    /// May name an account twice.
    package var named: [PublicKey]
    /// In seconds since 1970.
    package var createdAt: Int64

    package init(author: PublicKey, named: [PublicKey], createdAt: Int64) {
        self.author = author
        self.named = named
        self.createdAt = createdAt
    }
}

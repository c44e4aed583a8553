import Nostr

/// Whether somebody whom an account follows follows an author.
package struct DistanceWant: Sendable, Hashable {
    package var account: PublicKey
    package var author: PublicKey

    package init(account: PublicKey, author: PublicKey) {
        self.account = account
        self.author = author
    }
}

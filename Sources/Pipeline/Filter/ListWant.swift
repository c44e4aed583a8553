import Nostr

/// An account's own list, of a replaceable kind, that a filter would read.
package struct ListWant: Sendable, Hashable {
    package var account: PublicKey
    package var kind: Kind

    package init(account: PublicKey, kind: Kind) {
        self.account = account
        self.kind = kind
    }
}

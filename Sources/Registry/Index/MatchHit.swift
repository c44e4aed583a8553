import Nostr

/// A key that belongs to an account.
package struct MatchHit: Hashable, Sendable {
    /// How a key belongs to an account.
    package enum Tie: UInt8, Hashable, Sendable {
        /// It is the account's own.
        case account
        /// It is one of the keys that the account receives messages under (`dm_key` in its kind 10050).
        case messageKey
    }

    /// Where the key was among those asked for.
    package var position: Int32
    package var account: AccountNumber
    package var tie: Tie = .account

    /// Whether an event of that kind is the account's concern: under a key for messages it receives gift wraps (NIP-59) and
    /// nothing else.
    package func counts(for kind: Kind) -> Bool {
        switch tie {
        case .account: true
        case .messageKey: kind == .giftWrap || kind == .ephemeralGiftWrap
        }
    }
}

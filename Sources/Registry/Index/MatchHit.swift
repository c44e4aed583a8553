/// A key that belongs to an account.
package struct MatchHit: Hashable, Sendable {
    /// Where the key was among those asked for.
    package var position: Int32
    package var account: AccountNumber
}
